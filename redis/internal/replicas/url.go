package replicas

import (
	"cmp"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// InURL is what the parameters replicas and replicas_wait of a URL say.
type InURL struct {
	replicas *int // nil: not given
	wait     time.Duration
}

// defaultWait is the wait if a URL gives none.
const defaultWait = time.Second

// Number is the parameter replicas.
func Number[T any](field func(t *T) *InURL) engineurl.Parameter[T] {
	return engineurl.NumberTo("replicas", 0, 100, func(t *T) *int {
		field(t).replicas = new(int)
		return field(t).replicas
	})
}

// Wait is the parameter replicas_wait.
func Wait[T any](field func(t *T) *InURL) engineurl.Parameter[T] {
	return engineurl.DurationTo("replicas_wait", func(t *T) *time.Duration { return &field(t).wait })
}

// Set sets the option that the parameters ask for, if they are given. set returns what is valid if its option is not.
func (r *InURL) Set(u *engineurl.URL, set func(n int, within time.Duration) (allowed string)) error {
	if r.replicas == nil {
		if r.wait != 0 {
			return u.BadParameter("replicas_wait", "left out, or next to replicas")
		}
		return nil
	}
	if allowed := set(*r.replicas, cmp.Or(r.wait, defaultWait)); allowed != "" {
		return u.BadParameter("replicas_wait", allowed)
	}
	return nil
}
