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
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// need skips the test if there is no Redis, or fails it where one was promised.
func need(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, demo.ErrMissing) && !needed.Servers() {
		t.Skip(err)
	}
}

// The cases break real servers, too, and leasehold keeps every update on them.
func TestRealServers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	began := time.Now()
	figures, err := demo.Real(t.Context(), cases.All, 1)
	need(t, err)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(figures) != len(cases.All) {
		t.Fatalf("%d cases were played", len(figures))
	}
	for _, f := range figures {
		if f.Without.Good() {
			t.Errorf("case %s: nothing is lost without leasehold: %+v", f.Letter, f.Without.Verdict)
		}
		if !f.With.Good() || f.With.Accepted == 0 {
			t.Errorf("case %s: with leasehold: %+v", f.Letter, f.With.Verdict)
		}
		if f.Without.Accepted-f.Without.Value != f.Without.Lost {
			t.Errorf("case %s: %+v", f.Letter, f.Without.Verdict)
		}
		refused := f.With.Refused > 0
		if fenced := f.Letter == "c" || f.Letter == "f"; fenced != refused {
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
	wantNothingLeft(t, dir)
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
