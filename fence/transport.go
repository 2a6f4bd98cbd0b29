package fence

import "net/http"

// Transport is an http.RoundTripper that sends the token of the request's context along, see [WithToken], in the headers [HeaderToken] and [HeaderName]. They replace those of the
// request.
//
// A request that may change something and has no token is not sent: the error is [ErrNoToken]. One that does not (GET, HEAD, OPTIONS, TRACE) is sent as it is. All
// other errors are those of the base. As always with HTTP, after such an error the request may have been done. Use [FromResponse] to learn whether
// the server refused the token.
//
// A client follows redirects, and its Transport sends the token along, whichever host that leads to. That is right where a server knows who serves the request, and tells others the name of the
// lock: CheckRedirect of http.Client can forbid it.
//
// It is safe for concurrent use if the base is.
type Transport struct {
	Base http.RoundTripper // nil stands for http.DefaultTransport
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
		r = r.Clone(r.Context()) // a RoundTripper must not change what it is given
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
		_ = r.Body.Close() // why it is not sent matters more
	}
	return err
}
