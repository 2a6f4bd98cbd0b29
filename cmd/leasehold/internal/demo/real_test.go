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
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// requireRedis skips the test if there is no Redis, or fails it where Redis is required.
func requireRedis(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, demo.ErrMissing) && !needed.Servers() {
		t.Skip(err)
	}
}

// The cases also break real servers, and leasehold keeps every update on them. A case is run again if a busy machine
// kept things from happening at the right moment.
func TestRealServers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	list := cases.All
	for range 10 {
		figures, err := demo.RunOnServers(t.Context(), list, 1)
		requireRedis(t, err)
		if err != nil {
			t.Fatal(err)
		}
		if len(figures) != len(list) {
			t.Fatalf("%d cases were run", len(figures))
		}
		wantNothingLeft(t, dir)
		var again []cases.Case
		for i, f := range figures {
			wantKept(t, f)
			if !hasRemarks(f) {
				t.Logf("case %s does not show its damage: without leasehold %+v, with it %+v", f.Letter,
					f.Without.Result, f.With.Result)
				again = append(again, list[i])
			}
		}
		if list = again; len(list) == 0 {
			return
		}
	}
	t.Errorf("%d cases never show their damage", len(list))
}

// wantKept fails the test if leasehold loses an update, or if the numbers do not add up.
func wantKept(t *testing.T, f draw.Figure) {
	t.Helper()
	if f.With.Lost > 0 {
		t.Errorf("case %s: with leasehold: %+v", f.Letter, f.With.Result)
	}
	if f.Without.Accepted-f.Without.Value != f.Without.Lost {
		t.Errorf("case %s: %+v", f.Letter, f.Without.Result)
	}
	if f.With.Refused > 0 && !fenced(f) {
		t.Errorf("case %s: the counter refused %d writes", f.Letter, f.With.Refused)
	}
	for _, l := range f.With.Lanes {
		for _, m := range l.Points {
			if m.Kind == timeline.Reads && m.Token < 1_000_000_000_000 {
				t.Errorf("case %s: token %d is none of the engine", f.Letter, m.Token)
			}
		}
	}
}

// fenced reports whether the counter must refuse a write in this case.
func fenced(f draw.Figure) bool { return f.Letter == "c" || f.Letter == "f" }

// hasRemarks reports whether everything went wrong that should, and leasehold lost nothing.
func hasRemarks(f draw.Figure) bool {
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

// An aborted run ends at once, with its servers.
func TestRealServersEndWithTheContext(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := demo.RunOnServers(ctx, cases.All[:1], 1) // case a, which is checked below
		ended <- err
	}()
	for !isRunning(t, dir) {
		select {
		case err := <-ended:
			requireRedis(t, err)
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

// isRunning reports whether case a is running: A has taken the lock that is never released.
func isRunning(t *testing.T, dir string) bool {
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
		c := goredis.NewClient(&goredis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), MaxRetries: -1,
			DialerRetries: 1})
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
	if _, err := demo.RunOnServers(t.Context(), cases.All, 1); !errors.Is(err, demo.ErrMissing) {
		t.Errorf("without redis-server: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
