package fence

import "context"

type contextKey struct{}

type carried struct {
	name  string
	token uint64
}

// WithToken returns a context that carries the name and the token of a lease: a [Transport] sends them along. Take the lease's own context:
//
//	ctx := fence.WithToken(lease.Context(), lease.Name(), lease.Token())
//
// A context carries one token, that of the innermost call.
func WithToken(ctx context.Context, name string, token uint64) context.Context {
	return context.WithValue(ctx, contextKey{}, carried{name, token})
}

// FromContext returns the name and the token that a context carries: by [WithToken], or of a request that has come through [Required] or a [Gate].
func FromContext(ctx context.Context) (name string, token uint64, ok bool) {
	c, ok := ctx.Value(contextKey{}).(carried)
	return c.name, c.token, ok
}
