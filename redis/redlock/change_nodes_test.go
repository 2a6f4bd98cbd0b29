package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// A change of the list is interrupted when all servers have left the old list and some have arrived in the
// new one. These do not count as servers of the old list any more, and yet the change can be completed by
// repeating it.
func TestInterruptedChangeCanBeRepeated(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := servers(t, 4)
	at := addresses(s)
	p := redisserver.ProxyForTest(t, at[0])
	before, after := []string{p.Addr(), at[1], at[2]}, []string{p.Addr(), at[1], at[3]}
	makeVote(t, before, guardedFor(ttl))
	p.Intercept(func(request []byte) redisserver.Action {
		// The last arguments of the second step are "old?new" and "new".
		if w := redisserver.Words(request); len(w) > 3 {
			if _, to, changing := strings.Cut(w[len(w)-3], "?"); changing && to == w[len(w)-2] {
				return redisserver.CutBefore
			}
		}
		return redisserver.Pass
	})
	if _, err := openToChange(t, after).ChangeNodes(t.Context()); err == nil {
		t.Fatal("the change was not interrupted: nothing is shown")
	}
	p.Intercept(nil)
	if _, err := openToChange(t, after).ChangeNodes(t.Context()); err != nil {
		t.Fatalf("it cannot be repeated: %v", err)
	}
	if _, err := redlock.New(t.Context(), clients(t, before), guardedFor(ttl)...); err == nil {
		t.Error("a program that starts with the old list is not refused")
	} else if _, ok := errors.AsType[*redlock.OtherListError](err); !ok {
		t.Error(err)
	}
	e := openGuarded(t, after, guardedFor(ttl)...)
	await(t, "the new list grants", func() bool {
		_, err := e.Take(t.Context(), requestBy("new", "name", ttl))
		return err == nil
	})
}
