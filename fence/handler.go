package fence

import (
	"context"
	"errors"
	"net/http"
)

// Required returns a handler that demands a token with each request that may change something. It puts the token into
// the context of the request, where [FromContext] finds it. It does not refuse old tokens: next must do that by raising
// a mark in the store that it writes to, with [Do] for example. That is safe with any number of servers.
//
// name returns the name of the lock that protects what a request is about, derived from its path for example. Do not
// take the name from what the client says about the lock: both are compared.
//
// Check before this handler whether the client is allowed to do what it asks for. Tokens are not passwords.
//
// A request without a token is answered with 428. A request whose token is malformed or for another name is answered
// with 400. Both answers are problem documents (RFC 9457). Requests with safe methods (GET, HEAD, OPTIONS, TRACE) need
// no token, unless [TokensAlways] is given.
//
// A request that asks for another method or another path than it has, for example with X-HTTP-Method-Override or
// X-Original-URL, is answered with 400. Otherwise a GET could write without a token. If a proxy in front sets such a
// header, have it stop that, or see [AllowOverrides].
//
// A request whose name may stand for the same thing as another name is answered with 400, too, since each of the names
// would have a mark of its own. Names must be of visible ASCII without \ % ; ? #. Between / and : there must be no
// empty part, and no part that ends with a dot. Use [Normalize] for other letters, [AnyName] for services that
// distinguish all names, and [FoldCase] where upper and lower case mean the same.
func Required(name func(*http.Request) string, next http.Handler, opts ...HandlerOption) http.Handler {
	var o handlerOptions
	for _, set := range opts {
		set(&o)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", HeaderToken) // a cache must not answer a newer token with what an older one has read
		n, err := o.check(r, name(r))
		if err != nil {
			Refuse(w, err)
			return
		}
		token, err := tokenOf(r.Header, n, o.canonicalName)
		switch {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(WithToken(r.Context(), n, token)))
		case errors.Is(err, ErrNoToken) && isSafe(r.Method) && !o.always:
			next.ServeHTTP(w, r)
		default:
			Refuse(w, err)
		}
	})
}

// Handler returns a handler that lets requests through the gate: it is [Required], with [Gate.Do] around next. So a
// request with an old token is answered with 412, and a request with a newer token waits until next has returned for
// all older ones. If the mark could not be raised, or the context of the request ended while it waited, the answer is
// 503, and nothing has been done.
//
// A safe method with a token goes through the gate as well, so that the next write finds what it has read. Without a
// token it bypasses the gate. So a client that may only read can raise a mark to any value, and shut others out:
// authenticate clients before the gate.
//
// next must not go on working after it has returned. So an http.TimeoutHandler may stand before the gate, but not
// behind it. Limit how long next may take, because newer tokens wait for it.
func (g *Gate) Handler(name func(*http.Request) string, next http.Handler, opts ...HandlerOption) http.Handler {
	return Required(name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, token, ok := FromContext(r.Context())
		if !ok || r.Header.Get(HeaderToken) == "" {
			next.ServeHTTP(w, r)
			return
		}
		begun := false
		err := g.Do(r.Context(), n, token, func(ctx context.Context) error {
			begun = true
			next.ServeHTTP(w, r.WithContext(ctx))
			return nil
		})
		switch {
		case begun:
		case errors.Is(err, ErrStale), errors.Is(err, ErrUnavailable), errors.Is(err, ErrInvalid):
			Refuse(w, err)
		default:
			Refuse(w, errors.Join(ErrUnavailable, err)) // the request has ended while it waited
		}
	}), opts...)
}
