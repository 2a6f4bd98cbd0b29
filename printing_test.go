package leasehold_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// Printing a lease, a client, a lock or a context by mistake, in whichever way, prints no owner.
func TestOwnersAreNotPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSpy()
		c := newClient(t, e)
		lease, err := c.Mutex("a").Lock(t.Context())
		noErr(t, err)
		set, err := c.LockAll(t.Context(), "b", "c")
		noErr(t, err)
		go func() {
			if l, err := c.Mutex("a").Lock(t.Context()); err == nil {
				_ = l.Release()
			}
		}()
		synctest.Wait()
		type job struct { // as in structures of a program
			Lease any
			lease any
		}
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).Info("mistake", "lease", lease, "client", c, "set", set)
		}
		printed := []string{log.String()}
		for _, value := range []any{lease, c, set, c.Mutex("a"), c.RWMutex("a"), c.Semaphore("a", 1), c.Latch("a"),
			c.Election("a"), lease.Context(), job{lease, lease}, &job{c, c}} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
				printed = append(printed, fmt.Sprintf("%T "+verb, value, value))
			}
			if text, err := json.Marshal(value); err == nil {
				printed = append(printed, string(text))
			}
		}
		owners := e.owners()
		if len(owners) < 2 {
			t.Fatal("there are no owners")
		}
		for _, text := range printed {
			for _, owner := range owners {
				if strings.Contains(text, owner) || strings.Contains(text, fmt.Sprintf("%x", owner)) {
					t.Errorf("an owner is printed: %.300s", text)
				}
			}
		}
		for value, want := range map[any]string{lease: `lease of lock "a" with token 1`, c: `client on "memory"`} {
			if got := fmt.Sprint(value); got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		}
		_ = set.Release()
		_ = lease.Release()
	})
}
