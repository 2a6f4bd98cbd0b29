package fence

import "context"

type contextKey struct{}

type contextToken struct {
	name  string
	token uint64
}

// WithToken returns a context that carries the name and the token of a lease. A [Transport] sends them. Use the lease's
// own context:
//
//	ctx := fence.WithToken(lease.Context(), lease.Name(), lease.Token())
//
// A context carries one token, that of the innermost call.
func WithToken(ctx context.Context, name string, token uint64) context.Context {
	return context.WithValue(ctx, contextKey{}, contextToken{name, token})
}

// FromContext returns the name and the token that a context carries, from [WithToken], [Required] or a [Gate].
func FromContext(ctx context.Context) (name string, token uint64, ok bool) {
	c, ok := ctx.Value(contextKey{}).(contextToken)
	return c.name, c.token, ok
}
