package leasehold

import (
	"context"
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold/memory"
)

type waitKey struct{}

// A wait ends when the client is closed, whether its caller's context can end or not. It has the values of that
// context. Where nothing else can end it, it takes no memory but for these.
func TestContextOfAWait(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]context.Context{"ends": t.Context(), "never ends": context.Background()} {
		c := New(memory.New())
		ctx, end := c.cancelOnClose(context.WithValue(parent, waitKey{}, 7))
		if ctx.Err() != nil || ctx.Value(waitKey{}) != 7 {
			t.Errorf("under a context that %s: %v, with the value %v", name, ctx.Err(), ctx.Value(waitKey{}))
		}
		if shared := ctx.Done() == c.lifetime.Done(); shared != (parent.Done() == nil) {
			t.Errorf("under a context that %s, only the end of the client ends it: %v", name, shared)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrClosed) {
			t.Errorf("under a context that %s: the cause is %v", name, cause)
		}
		end()
	}
}
