package zookeeper

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Nodes that were created with a user and a password belong to whoever knows both, over any connection, and to nobody
// else.
func TestNodesBelongToTheirUser(t *testing.T) {
	t.Parallel()
	s := server(t)
	open := func(user string) *Engine {
		raw := fmt.Sprintf("zookeeper://%s%s/auth?session_timeout=40s", user, s.Addr())
		e, err := openURL(t.Context(), raw, noEnvironment)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	anna, same, berta, stranger := open("anna:geheim@"), open("anna:geheim@"), open("berta:geheim@"), open("")
	r := lock(t, "a")
	mustTake(t, anna, r)
	for name, e := range map[string]*Engine{"another user": berta, "a stranger": stranger} {
		_, took := e.Take(t.Context(), lock(t, "b"))
		_, listed := e.List(t.Context(), driver.Query{})
		for _, err := range []error{took, listed, e.ForceRelease(t.Context(), r.Key, 1)} {
			if !driver.IsPermanent(err) || strings.Contains(err.Error(), "geheim") ||
				!strings.Contains(err.Error(), "password") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	done := waitFor(t.Context(), same, join(t, same, lock(t, "a")))
	anna.client.mu.Lock()
	old := anna.client.connection
	anna.client.mu.Unlock()
	_ = old.Conn.Close() // it logs in again
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := anna.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
		t.Errorf("Release: %v", err)
	}
	if w := <-done; w.err != nil {
		t.Errorf("Wait: %v", w.err)
	}
	if text := fmt.Sprintf("%+v %v", anna.config, anna.config); strings.Contains(text, "geheim") {
		t.Error("the engine keeps the password in its settings")
	}
}
