package fence

import (
	"context"
	"errors"
	"net/http"
)

// Required returns a handler that wants a token with each request that may change something, and puts it into the context of the request, where [FromContext] finds it. It refuses no old
// tokens: next must, by raising a mark in the store that it writes to, with [Do] for example. That is safe with any number of servers.
//
// name returns the name of the lock that protects what a request is about, made of its path for example. Do not take it from what the client says of the lock: it is compared
// with that.
//
// Look before it whether the client may do what it wants. Tokens are no passwords.
//
// A request without a token is answered with 428, one with a token that is none, or for another name, with 400; both with a problem document (RFC 9457). Safe methods (GET, HEAD,
// OPTIONS, TRACE) may come without one, unless [TokensAlways] is given.
//
// A request that asks for another method than it has, as with X-HTTP-Method-Override, is answered with 400: a GET could write without a token otherwise. So is one whose name may stand for
// the same thing as another name: with . or .. for a part of a path, a backslash, a percent-escape or a control character in it. Where upper and lower case are one, give [FoldCase].
func Required(name func(*http.Request) string, next http.Handler, opts ...HandlerOption) http.Handler {
	var o handling
	for _, set := range opts {
		set(&o)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", HeaderToken) // a cache must not answer one who raises first with what was read before
		n, err := o.check(r, name(r))
		if err != nil {
			Refuse(w, err)
			return
		}
		token, err := tokenOf(r.Header, n, o.fold)
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

// Handler returns a handler that lets requests through the gate: it is [Required], and [Gate.Do] around next. So a request with an old token is answered with 412, and one with a newer
// token waits until next has returned for all older ones. If the mark could not be raised, or the context of the request ended while it waited, the answer is 503, and nothing has been done.
//
// A safe method with a token goes through the gate as well: what it reads is then what the next write finds. Without one it passes beside it. So who may read can raise a mark, as high as it likes,
// and shut others out: look before the gate who it is.
//
// next must not go on working when it has returned. So an http.TimeoutHandler may stand before the gate, but not behind it. Limit how long next may take: who has a newer token waits for it.
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
