package votecount

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	const name = "mark:crowd:one two:0"
	for line, want := range map[string]change{
		`+1795273857.000105 [0 127.0.0.1:41080] "set" "` + name +
			`" "o\"w\x00\nnot the owner" "px" "8000" "nx"`: {at: 1795273857000105, owner: "o\"w\x00", ifFree: true},
		`+1795273857.000106 [0 lua] "SET" "lock:` + name +
			`" "owner" "KEEPTTL"`: {at: 1795273857000106, owner: "owner"},
		`+1795273857.000107 [0 lua] "DEL" "lock:` + name +
			`"`: {at: 1795273857000107},
	} {
		ch, ours, err := parse(line+"\r\n", name)
		if err != nil || !ours || ch != want {
			t.Errorf("%s: %+v, %v, %v", line, ch, ours, err)
		}
	}
	for _, line := range []string{
		`+1.000105 [0 lua] "GET" "lock:` + name + `"`,
		`+1.000105 [0 lua] "SET" "{lock:` + name + `}:token" "1"`,
		`+1.000105 [0 lua] "SET" "lock:mark:another" "about ` + name + `"`,
		`+1.000105 [0 lua] "SET" "lock:mark:another" "1"`,
		`+1.000105 [0 127.0.0.1:1] "evalsha" "abc" "2" "lock:` + name + `" "{lock:` + name + `}:token" "1"`,
	} {
		if ch, ours, err := parse(line+"\r\n", name); err != nil || ours {
			t.Errorf("%s: %+v, %v, %v", line, ch, ours, err)
		}
	}
	for _, line := range []string{`+x [0 lua] "SET" "` + name + `" "1"`, `+1.000105 [0 lua] "SET" "` + name,
		`+1.000105 [0 lua] "SET" "` + name + `"`} {
		if _, _, err := parse(line, name); err == nil {
			t.Errorf("%s is understood", line)
		}
	}
}

func TestMonitorSeesWhatServersDo(t *testing.T) {
	t.Parallel()
	var (
		servers []*redisserver.Server
		addrs   []string
	)
	for range 3 {
		s := redisserver.ForTest(t, redisserver.Config{})
		servers, addrs = append(servers, s), append(addrs, s.Addr())
	}
	m, err := Watch(t.Context(), addrs, "a name")
	if err != nil {
		t.Fatal(err)
	}
	do := func(node int, words ...string) {
		t.Helper()
		if _, err := servers[node].Command(words...); err != nil {
			t.Fatal(err)
		}
	}
	take := func(node int, owner string) {
		do(node, "EVAL", "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 10000) and 1 or 0", "1", "lock:a name",
			owner)
	}
	release := func(node int) { do(node, "DEL", "lock:a name") }
	for node := range servers {
		release(node)
	}
	take(0, "loser\n17")
	take(0, "winner")
	take(1, "winner")
	take(2, "winner")
	release(0)
	take(1, "late")
	for node := range servers {
		release(node)
	}
	for node := range servers {
		release(node)
	}
	awaitChanges(t, m, 15)
	got, err := m.Stop()
	if want := (Count{Won: 1, Split: 1}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// awaitChanges waits until n changes have been read.
func awaitChanges(t *testing.T, m *Monitor, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		m.mu.Lock()
		read := len(m.changes)
		m.mu.Unlock()
		if read >= n {
			return
		}
		if time.Since(began) > redisserver.Patience {
			t.Fatalf("%d changes were read, want %d", read, n)
		}
	}
}

func TestMonitorOfAMissingNode(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	if _, err := Watch(t.Context(), []string{s.Addr(), "127.0.0.1:1"}, "name"); err == nil {
		t.Error("a node that is not there is watched")
	}
	locked := redisserver.ForTest(t, redisserver.Config{Password: "secret"})
	if _, err := Watch(t.Context(), []string{locked.Addr()}, "name"); err == nil {
		t.Error("a node that refuses is watched")
	}
}

func TestMonitorReportsANodeThatEnds(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	m, err := Watch(t.Context(), []string{s.Addr()}, "name")
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	m.readers.Wait()
	if _, err := m.Stop(); err == nil {
		t.Error("nobody notices")
	}
}
