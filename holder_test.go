package leasehold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// isSelf reports whether a holder text is that of this process.
func isSelf(text, label string) bool {
	p, ok := admin.ParseHolder(text)
	host, _ := os.Hostname()
	return ok && p.Host == host && p.PID == os.Getpid() && p.Program == filepath.Base(os.Args[0]) && p.Label == label
}

// holderOf returns the text of the holder of a name.
func holderOf(t *testing.T, e driver.Engine, name string) string {
	t.Helper()
	all, err := admin.New(e).Inspect(t.Context(), name)
	if err != nil || len(all) != 1 || len(all[0].Holders) == 0 {
		t.Fatalf("%s is %+v, %v; want one holder", name, all, err)
	}
	return all[0].Holders[0].Holder
}

func TestHoldersAreKnownByTheirProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		label := leasehold.Label("big orders")
		for name, ask := range map[string]struct {
			lock  asker
			label string
		}{
			"plain":     {c.Mutex("plain").Lock, ""},
			"mutex":     {c.Mutex("mutex", label).Lock, "big orders"},
			"reader":    {c.RWMutex("reader", label).RLock, "big orders"},
			"writer":    {c.RWMutex("writer", label).Lock, "big orders"},
			"semaphore": {permits(c.Semaphore("semaphore", 3, label), 2), "big orders"},
			"default":   {newClient(t, e, leasehold.WithDefaults(label)).Mutex("default").Lock, "big orders"},
			"own":       {newClient(t, e, leasehold.WithDefaults(label)).Mutex("own", leasehold.Label("x")).Lock, "x"},
		} {
			take(t, ask.lock)
			if text := holderOf(t, e, name); !isSelf(text, ask.label) {
				t.Errorf("the holder of %s is %q", name, text)
			}
		}
		set := takeAll(t, newClient(t, e, leasehold.WithDefaults(label)), "one", "two")
		if text := holderOf(t, e, "two"); !isSelf(text, "big orders") {
			t.Errorf("the holder of one of several is %q", text)
		}
		release(t, set)

		waiting := start(t.Context(), newClient(t, e).Mutex("mutex", leasehold.Label("waits")).Lock)
		waiting.wantWaiting(t)
		all, err := admin.New(e).Inspect(t.Context(), "mutex")
		if err != nil || len(all) != 1 || len(all[0].Queue) != 1 || !isSelf(all[0].Queue[0].Holder, "waits") {
			t.Errorf("the waiter is %+v, %v", all, err)
		}
		expect(t, c.Close(), nil)
		waiting.wantValue(t)
	})
}

// A caller that a lock is handed over to, by another lock of the same client, is shown with its own label.
func TestAHandOverShowsWhoHolds(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		first := take(t, c.Mutex("n", leasehold.Label("one")).Lock)
		next := start(t.Context(), c.Mutex("n", leasehold.Label("two")).Lock)
		next.wantWaiting(t)
		release(t, first)
		second := next.wantValue(t)
		if text := holderOf(t, e, "n"); !isSelf(text, "two") {
			t.Errorf("the holder is %q", text)
		}
		release(t, second)
	})
}

// Others see only the text of WithHolder.
func TestAHolderTextOfTheCaller(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		label := leasehold.Label("secret project")
		c := newClient(t, e, leasehold.WithHolder("billing-3"), leasehold.WithDefaults(label))
		take(t, c.Mutex("n", label).Lock)
		if text := holderOf(t, e, "n"); text != "billing-3" {
			t.Errorf("the holder is %q", text)
		}
		for _, c := range []*leasehold.Client{c, newClient(t, e)} {
			lead, err := c.Election("lead", label).Campaign(t.Context(), "node 7")
			expect(t, err, nil)
			if text := holderOf(t, e, "lead"); text != "node 7" {
				t.Errorf("the leader is %q", text)
			}
			release(t, lead)
		}
	})
}

// A label may be longer than a holder text.
func TestALabelThatDoesNotFit(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		for _, label := range []string{strings.Repeat("l", 1024), "a\x00b"} {
			lease := take(t, c.Mutex("n", leasehold.Label(label)).Lock)
			if text := holderOf(t, e, "n"); !isSelf(text, "") {
				t.Errorf("the holder is %q", text)
			}
			release(t, lease)
		}
		for _, label := range []string{"a\nb", " a ", "  ", "ä\x1b[31m"} {
			lease := take(t, c.Mutex("n", leasehold.Label(label)).Lock)
			if text := holderOf(t, e, "n"); !isSelf(text, label) {
				t.Errorf("the holder is %q", text)
			}
			release(t, lease)
		}
	})
}
