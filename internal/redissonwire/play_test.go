package redissonwire

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// plainSide plays "lock.tryLock" with a script that has the effect of Redisson's, and "lock.fail".
type plainSide struct {
	server *redisserver.Server
	conns  map[string]*redisserver.Conn
}

const tryLock = `if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) ` +
	`redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end redis.call('pttl', KEYS[1]) return 0`

func owner(client, thread string) string {
	return strings.Repeat(client, 8) + "-0000-4000-8000-000000000000:" + strings.TrimPrefix(thread, "t")
}

func (s *plainSide) Open(_ context.Context, client string, _ map[string]string) error {
	c, err := s.server.Dial()
	if err == nil {
		_, err = c.Do("CLIENT", "SETNAME", client)
		s.conns[client] = c
	}
	return err
}

func (s *plainSide) Begin(context.Context, string, string) error     { return nil }
func (s *plainSide) Interrupt(context.Context, string, string) error { return nil }

func (s *plainSide) Labels() map[string]string {
	return map[string]string{owner("a", "t1"): "a:t1", owner("b", "t1"): "b:t1"}
}

func (s *plainSide) Call(_ context.Context, c Call) (any, error) {
	if c.Op == "lock.fail" {
		return nil, fmt.Errorf("failed: %w", Failure("IllegalMonitorStateException"))
	}
	got, err := s.conns[c.Client].Do("EVAL", tryLock, "1", c.Name, fmt.Sprint(c.Args[0]), owner(c.Client, c.Thread))
	return got == int64(1), err
}

// calls is a file without what its steps did.
const calls = `# A comment.
open a
open b

== a part

> a/t1 lock.tryLock x 20000

# A comment on a step.
> b/t1 lock.tryLock x 20000
> b/t1 lock.fail x
> do DEL x

== a part of a newer version (since 4.0.0)

> b/t1 lock.tryLock y 1000
`

// did is what the steps of the first part did.
var did = [][]string{
	{"= true", "c a EVAL [x] [20000 a:t1]", "r exists x", "w hincrby x a:t1 1", "w pexpire x 20000",
		"k x hash ttl ~20000 {a:t1: 1}"},
	{"= false", "c b EVAL [x] [20000 b:t1]", "r exists x", "r pttl x", "k x hash ttl ~20000 {a:t1: 1}"},
	{"! IllegalMonitorStateException", "k x hash ttl ~20000 {a:t1: 1}"},
	nil,
}

func start(t *testing.T) (*redisserver.Server, *plainSide, string) {
	s := redisserver.ForTest(t, redisserver.Config{})
	side := &plainSide{s, map[string]*redisserver.Conn{}}
	t.Cleanup(func() {
		for _, c := range side.conns {
			_ = c.Close() // nothing is in flight
		}
	})
	path := filepath.Join(t.TempDir(), "calls.txt")
	if err := os.WriteFile(path, []byte(calls), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, side, path
}

func TestAFileIsWrittenAndPlayedAgain(t *testing.T) {
	t.Parallel()
	s, side, path := start(t)
	setup := func() (Side, []*redisserver.Server) {
		return &plainSide{s, side.conns}, []*redisserver.Server{s}
	}
	t.Run("write", func(t *testing.T) { Play(t, path, setup, Options{Update: true}) })
	f, err := parse(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range f.parts[0].steps {
		if d := difference(step.did, did[i]); d != "" {
			t.Errorf("> %s: %s", step.line, d)
		}
	}
	if notes := f.parts[0].steps[1].notes; len(notes) != 1 || f.head[0] != "# A comment." {
		t.Errorf("comments: %q, %q", f.head, notes)
	}
	t.Run("play", func(t *testing.T) { Play(t, path, setup, Options{Version: "3.52.0"}) })
	t.Run("effects", func(t *testing.T) { Play(t, path, setup, Options{Skip: Effects}) })
}

func TestADifferenceIsFound(t *testing.T) {
	t.Parallel()
	s, side, path := start(t)
	f, err := parse(path)
	if err != nil {
		t.Fatal(err)
	}
	pl := newPlayer(side, Record(t, s), Options{})
	if err := side.Open(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	pl.limit = 300 * time.Millisecond
	for i, edit := range []func([]string) []string{
		func(lines []string) []string { return lines },
		func(lines []string) []string { lines[0] = "= false"; return lines },
		func(lines []string) []string { lines[5] = "k x hash ttl ~10000 {a:t1: 1}"; return lines },
		func(lines []string) []string { return lines[:5] },
		func(lines []string) []string { return append(lines, "m channel 0") },
	} {
		pl.begin(f.parts[0])
		if err := pl.recorder.Clear(); err != nil {
			t.Fatal(err)
		}
		step := &step{line: f.parts[0].steps[0].line, did: edit(append([]string{}, did[0]...))}
		if _, problem := pl.step(t.Context(), step); (problem == "") != (i == 0) {
			t.Errorf("edit %d: %q", i, problem)
		}
	}
}
