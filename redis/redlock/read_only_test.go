package redlock_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// A user with read-only rights sees what each server says, is refused locks, and puts no server into a list.
func TestReadOnlyUserChangesNothing(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/engines/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```\n# look: ")
	text, _, _ := strings.Cut(rest, "```\n")
	rights := []string{"ACL", "SETUSER", "dashboard", "on", ">secret"}
	for line := range strings.Lines("# " + text) {
		if !strings.HasPrefix(line, "#") {
			rights = append(rights, strings.Fields(line)...)
		}
	}
	all := servers(t, 3)
	for _, s := range all {
		if _, err := s.Command(rights...); err != nil {
			t.Fatal(err)
		}
	}
	url := "redlock://dashboard:secret@" + strings.Join(addresses(all), ",") + "?node_timeout=10s"
	e, err := redlock.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	k := driver.Key{Kind: driver.Lock, Name: "a"}
	if page, err := e.List(t.Context(), driver.Query{}); err != nil || len(page) != 0 {
		t.Errorf("listed %v, %v", page, err)
	}
	votes, err := e.Votes(t.Context(), k)
	if err != nil || len(votes) != 3 {
		t.Fatalf("votes %+v, %v", votes, err)
	}
	for _, v := range votes {
		if v.Err != nil || v.Closed <= 0 {
			t.Errorf("the vote is %+v, want one of a server that grants nothing yet", v)
		}
	}
	if _, err := findLeaks(t, e); err != nil {
		t.Error(err)
	}
	if _, err := e.Records(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if x, err := e.Examine(t.Context()); err != nil || len(x.Servers) != 3 {
		t.Errorf("examined %+v, %v", x, err)
	}
	r := driver.Request{Key: k, Owner: "owner", Size: 1, Weight: 1, TTL: 10 * time.Second, Tokens: 1}
	if _, err := e.Take(t.Context(),
		r); !driver.IsPermanent(err) || !strings.Contains(err.Error(), "smallest rights in docs/engines/redis.md") {
		t.Errorf("Take: %v, want a permanent error that says where the rights are explained", err)
	}
	for _, s := range all {
		if size, err := s.Command("DBSIZE"); err != nil || size != int64(0) {
			t.Errorf("%s keeps %v keys, %v", s.Addr(), size, err)
		}
	}
}
