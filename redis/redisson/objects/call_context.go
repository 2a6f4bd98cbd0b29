package objects

import (
	"context"

	"github.com/leasehold-go/leasehold"
)

// callContext is the context with which the library takes a lock. It has none of the leases that the caller's context
// comes from: to the library, who has such a context would be their holder, but here only the values of this package
// hold anything.
type callContext struct{ context.Context }

// Value implements [context.Context].
func (c callContext) Value(key any) any {
	value := c.Context.Value(key)
	if _, ok := value.(*leasehold.Lease); ok {
		return nil
	}
	return value
}
