//go:build unix

package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// wantNoOwner fails the test if a text contains the secret of an owner, or the password.
func wantNoOwner(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, secretOwner) || strings.Contains(text, geheim) {
		t.Errorf("%s shows a secret: %q", what, text)
	}
}

// secretOwner is the beginning of all owners in these tests.
const secretOwner = "secret-owner-"

// secrets creates owners that hold a lock and a permit, wait, and have set a latch, all with the name deploy.
func secrets(t *testing.T, raw string) {
	t.Helper()
	e, closed, err := engine.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closed() })
	request := func(kind driver.Kind, who string) driver.Request {
		return driver.Request{
			Key: driver.Key{Kind: kind, Name: "deploy"}, Owner: secretOwner + who,
			Place: secretOwner + "place-of-" + who,
			Size:  1, Weight: 1, TTL: 30 * time.Minute, Tokens: 1, Holder: "host:1 program",
		}
	}
	for _, r := range []driver.Request{request(driver.Lock, "holder"), request(driver.Semaphore, "permit")} {
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	waiter := request(driver.Lock, "waiter")
	waiter.Join = true
	if _, err := e.Take(t.Context(), waiter); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	go func() { _, _ = e.Wait(t.Context(), waiter) }() // until the end of the test
	latch := driver.LatchSet{Name: "deploy", ID: secretOwner + "latch", Count: 2, TTL: 30 * time.Minute}
	if _, err := e.(driver.Latcher).TrySet(t.Context(), latch); err != nil {
		t.Fatal(err)
	}
}

// Commands show no owner and no password, even on engines where listing also reads owners.
func TestNothingThatIsShownHasASecret(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, m *machine) string{
		"sqlite": func(_ *testing.T, m *machine) string { return "sqlite:" + m.db },
		"redis": func(t *testing.T, _ *machine) string {
			s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
			return "redis://" + withPassword("") + s.Addr() + "?max_ttl=1h&" + unguarded
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			url := open(t, m)
			m.use(url)
			secrets(t, url)
			m.until("a waiter", func() bool {
				return strings.Contains(m.do("ls", "-o", "json").want(t, 0).out, `"waiting":1`)
			})
			for _, line := range []string{
				"ls", "ls -o json", "ls --prefix dep", "inspect deploy", "inspect deploy -o json", "check deploy",
				"wait -w 0 deploy",
				"leaks", "leaks -o json", "audit", "audit -o json", "doctor", "doctor -o json", "run -n deploy -- true",
				"run -n -o json deploy -- true", "ls --limit=x", "nothing", "release --force --yes --why test deploy",
				"audit -o json", "ls",
			} {
				r := m.do(strings.Fields(line)...)
				wantNoOwner(t, line, r.out+r.err)
				if strings.HasPrefix(line, "ls -o json") && !strings.Contains(r.out, "host:1 program") {
					t.Errorf("%s shows no holder: %q", line, r.out)
				}
			}
		})
	}
}

// Nor do the screen of top, the pages of the exporter and the lines of watch.
func TestNothingThatIsWatchedHasASecret(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim})
	m := newMachine(t).use("redis://" + withPassword("") + s.Addr() + "?max_ttl=1h&" + unguarded)
	watch := m.start("watch", "--interval", "100ms", "-o", "json")
	secrets(t, "redis://"+withPassword("")+s.Addr()+"?max_ttl=1h&"+unguarded)
	for held := ""; !strings.Contains(held, "host:1 program"); {
		held = watch.line()
		wantNoOwner(t, "watch", held)
	}

	e := m.export()
	e.awaitMetrics("leasehold_up 1", `leasehold_locks_held{kind="lock",resource="default"} 1`,
		`leasehold_waiters{kind="lock"} 1`)
	for _, page := range []string{"/metrics", "/", "/healthz"} {
		wantNoOwner(t, page, e.get(page))
	}
	wantNoOwner(t, "the exporter", e.stderr())
	e.end(syscall.SIGTERM)

	w := m.window("160", "40")
	w.run(`"$LH" top --interval 500ms`)
	wantNoOwner(t, "top", w.see("deploy", "q quit"))
	w.press("Enter")
	wantNoOwner(t, "one name", w.see("held by", "host:1"))
	w.press("q")
	w.see("ready>")
	wantNoOwner(t, "what top leaves", w.screen())
}
