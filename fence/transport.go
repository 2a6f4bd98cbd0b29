package fence

import "net/http"

// Transport is an http.RoundTripper that sends the token of the request's context (see [WithToken]) in the headers
// [HeaderToken] and [HeaderName]. They replace headers of that name in the request.
//
// A request that may change something and has no token is not sent: the error is [ErrNoToken]. A request with a safe
// method (GET, HEAD, OPTIONS, TRACE) is sent without one. All other errors are those of Base. As always with HTTP, the
// request may have been done after such an error. Use [FromResponse] to learn whether the server refused the token.
//
// An http.Client follows redirects, and its Transport sends the token to any host they lead to. That is right if a
// server knows which other server handles the request, but it reveals the name of the lock to others: CheckRedirect of
// http.Client can forbid it.
//
// A Transport is safe for concurrent use if Base is.
type Transport struct {
	Base http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	name, token, ok := FromContext(r.Context())
	if ok {
		if err := Valid(name, token); err != nil {
			return nil, drop(r, err)
		}
		r = r.Clone(r.Context()) // a RoundTripper must not change the request
		if r.Header == nil {
			r.Header = http.Header{}
		}
		setHeaders(r.Header, name, token)
	} else if !isSafe(r.Method) && r.Header.Get(HeaderToken) == "" {
		return nil, drop(r, ErrNoToken)
	}
	return base.RoundTrip(r)
}

// drop closes the body of a request that is not sent, as a RoundTripper must.
func drop(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close() // the reason for not sending matters more
	}
	return err
}
