package demo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/needed"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// need skips the test if there is no Redis, or fails it where one was promised.
func need(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, demo.ErrMissing) && !needed.Servers() {
		t.Skip(err)
	}
}

// The cases break real servers, too, and leasehold keeps every update on them. What a busy machine has kept from happening at the right moment
// is played again.
func TestRealServers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	list := cases.All
	for range 10 {
		figures, err := demo.Real(t.Context(), list, 1)
		need(t, err)
		if err != nil {
			t.Fatal(err)
		}
		if len(figures) != len(list) {
			t.Fatalf("%d cases were played", len(figures))
		}
		wantNothingLeft(t, dir)
		var again []cases.Case
		for i, f := range figures {
			wantKept(t, f)
			if !tells(f) {
				t.Logf("case %s does not tell its story: without leasehold %+v, with it %+v", f.Letter, f.Without.Verdict, f.With.Verdict)
				again = append(again, list[i])
			}
		}
		if list = again; len(list) == 0 {
			return
		}
	}
	t.Errorf("%d cases never tell their stories", len(list))
}

// wantKept fails the test if leasehold lets an update get lost, or if somebody cannot count.
func wantKept(t *testing.T, f draw.Figure) {
	t.Helper()
	if f.With.Lost > 0 {
		t.Errorf("case %s: with leasehold: %+v", f.Letter, f.With.Verdict)
	}
	if f.Without.Accepted-f.Without.Value != f.Without.Lost {
		t.Errorf("case %s: %+v", f.Letter, f.Without.Verdict)
	}
	if f.With.Refused > 0 && !fenced(f) {
		t.Errorf("case %s: the counter refused %d writes", f.Letter, f.With.Refused)
	}
	for _, l := range f.With.Lanes {
		for _, m := range l.Marks {
			if m.What == tape.Reads && m.Token < 1_000_000_000_000 {
				t.Errorf("case %s: token %d is none of the engine", f.Letter, m.Token)
			}
		}
	}
}

// fenced reports whether the case is one in which the counter must refuse a write.
func fenced(f draw.Figure) bool { return f.Letter == "c" || f.Letter == "f" }

// tells reports whether all went wrong that is to go wrong, and all went well with leasehold.
func tells(f draw.Figure) bool {
	return !f.Without.Good() && f.With.Good() && f.With.Accepted > 0 && (f.With.Refused > 0) == fenced(f)
}

// wantNothingLeft fails the test if a server has left its folder behind.
func wantNothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "redis-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// A play that is called off ends at once, servers and all.
func TestRealServersEndWithTheContext(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := demo.Real(ctx, cases.All[:1], 1) // case a, which is looked at below
		ended <- err
	}()
	for !underWay(t, dir) {
		select {
		case err := <-ended:
			need(t, err)
			t.Fatalf("it has ended before: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	wantNothingLeft(t, dir)
}

// underWay reports whether case a is being played: A has taken the lock that is never released.
func underWay(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "redis-*", "redis.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may not be written yet
		var port int
		if _, err := fmt.Sscanf(string(text), "port %d\n", &port); err != nil {
			continue
		}
		c := goredis.NewClient(&goredis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), MaxRetries: -1, DialerRetries: 1})
		n, _ := c.Exists(t.Context(), "lock:demo a, without, 0").Result()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			return true
		}
	}
	return false
}

func TestWithoutRedis(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("PATH", dir)
	if _, err := demo.Real(t.Context(), cases.All, 1); !errors.Is(err, demo.ErrMissing) {
		t.Errorf("without redis-server: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
