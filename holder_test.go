package leasehold_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold"
)

// isSelf reports whether a holder text is that of this process.
func isSelf(text, label string) bool {
	p, ok := leasehold.ParseHolder(text)
	host, _ := os.Hostname()
	return ok && p.Host == host && p.PID == os.Getpid() && p.Program == filepath.Base(os.Args[0]) && p.Label == label
}

// holderOf returns the text of the holder of a name.
func holderOf(t *testing.T, c *leasehold.Client, name string) string {
	t.Helper()
	all, err := c.Inspect(t.Context(), name)
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
			if text := holderOf(t, c, name); !isSelf(text, ask.label) {
				t.Errorf("the holder of %s is %q", name, text)
			}
		}
		set := takeAll(t, newClient(t, e, leasehold.WithDefaults(label)), "one", "two")
		if text := holderOf(t, c, "two"); !isSelf(text, "big orders") {
			t.Errorf("the holder of one of several is %q", text)
		}
		release(t, set)

		waiting := start(t.Context(), newClient(t, e).Mutex("mutex", leasehold.Label("waits")).Lock)
		waiting.wantWaiting(t)
		all, err := c.Inspect(t.Context(), "mutex")
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
		if text := holderOf(t, c, "n"); !isSelf(text, "two") {
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
		if text := holderOf(t, c, "n"); text != "billing-3" {
			t.Errorf("the holder is %q", text)
		}
		for _, c := range []*leasehold.Client{c, newClient(t, e)} {
			lead, err := c.Election("lead", label).Campaign(t.Context(), "node 7")
			expect(t, err, nil)
			if text := holderOf(t, c, "lead"); text != "node 7" {
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
			if text := holderOf(t, c, "n"); !isSelf(text, "") {
				t.Errorf("the holder is %q", text)
			}
			release(t, lease)
		}
		for _, label := range []string{"a\nb", " a ", "  ", "ä\x1b[31m"} {
			lease := take(t, c.Mutex("n", leasehold.Label(label)).Lock)
			if text := holderOf(t, c, "n"); !isSelf(text, label) {
				t.Errorf("the holder is %q", text)
			}
			release(t, lease)
		}
	})
}

func TestParseHolder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]leasehold.Process{
		"host-a:1 billing":         {Host: "host-a", PID: 1, Program: "billing"},
		"fe80::1:77 a.b":           {Host: "fe80::1", PID: 77, Program: "a.b"},
		"h:4194304 p order":        {Host: "h", PID: 4194304, Program: "p", Label: "order"},
		"h:1 p big orders of  two": {Host: "h", PID: 1, Program: "p", Label: "big orders of  two"},
		"h:1 p  a":                 {Host: "h", PID: 1, Program: "p", Label: " a"},
		"h:1 p a\nb":               {Host: "h", PID: 1, Program: "p", Label: "a\nb"},
	} {
		if got, ok := leasehold.ParseHolder(text); !ok || got != want || got.String() != text {
			t.Errorf("%q is %+v, %v, and so %q; want %+v", text, got, ok, got.String(), want)
		}
	}
	for _, text := range []string{
		"", " ", ":", "a", "a b", "host:1", "host:1 ", "host:1  p", ":1 p", "h: p", "h:0 p", "h:-1 p", "h:+1 p",
		"h:01 p", "h:1x p", "h:1.5 p",
		"h:99999999999999999999 p", "h:1 p ", "host-a:1\tbilling", "h 1:1 p", "billing-3", "node 7",
		"\xff", "::", "h:１ p",
	} {
		if got, ok := leasehold.ParseHolder(text); ok || got != (leasehold.Process{}) {
			t.Errorf("%q is taken for %+v, %v", text, got, ok)
		}
	}
}

// Any text is either no process, or is the text of the process that it is parsed as.
func FuzzParseHolder(f *testing.F) {
	for _, text := range []string{"host-a:1 billing", "h:1 p a b", "h:+1 p", "h:1 p ", "::1 "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := leasehold.ParseHolder(text)
		if ok && (p.String() != text || p.Host == "" || p.PID < 1 || p.Program == "") ||
			!ok && p != (leasehold.Process{}) {
			t.Errorf("%q is %+v, %v", text, p, ok)
		}
	})
}
