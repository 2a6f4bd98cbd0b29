package redisson

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// restartWatchdog is the watchdog timeout of tests in which a waiter in Java may miss an unlock: it sleeps for as long.
const restartWatchdog = 15 * time.Second

// durable makes a server keep all that it has confirmed.
var durable = redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}

// Each side keeps what it holds when the server is killed and comes back, and the other one does not get it. Go waits
// on meanwhile. A call in Java that waits may end with an error, or lose its subscription and sleep until the lease
// would have ended. After the unlock, the other side gets the lock, and nothing is left behind.
func TestRestartWhileBothSidesWait(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, durable)
			config := javaside.Single(s.URL())
			config.Watchdog = restartWatchdog
			java, golang := newProgram(t, version), newProgram(t, "")
			java.MustOpen("c", config)
			golang.MustOpen("c", config)
			bothWays := [][2]*side{{java, golang}, {golang, java}}
			pairs := holdAndWant(t, bothWays, "c", s, "lock", "fenced", "fair", "write", "read")
			s.Kill()
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			mustKeepOut(t, pairs, restartWatchdog*3/2)
			for _, p := range pairs {
				if p.ended != nil && p.b.side == golang {
					t.Errorf("%s: Go does not wait on: %v", p.b.name, p.ended)
				}
				p.mustComeAfterUnlock()
			}
			mustBeLeftEmpty(t, s)
		})
	}
}

// mustKeepOut checks for some time that the other sides do not get what is held. What nobody renews ends meanwhile. A
// program in Java may get no answer at first.
func mustKeepOut(t *testing.T, pairs []*heldAndWanted, long time.Duration) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(watchdog / 10) {
		over := time.Since(began) > long
		for _, p := range pairs {
			select {
			case p.ended = <-p.held:
				if p.ended == nil {
					t.Fatalf("%s is held by both sides", p.a.name)
				}
				t.Logf("%s: the waiter has given up: %v", p.b.name, p.ended)
			default:
			}
			other := p.b
			other.suffix = " besides"
			if got, err := other.tryLock(); got == true || over && err != nil {
				t.Fatalf("%s, which is held, in %s: %v, %v", other.name, other.side.language, got, err)
			}
		}
		if over {
			return
		}
	}
}

// mustComeAfterUnlock checks that the other side gets what is unlocked, in a new call if the waiting one has ended.
func (p *heldAndWanted) mustComeAfterUnlock() {
	p.a.Helper()
	began := time.Now()
	p.a.unlock()
	if p.ended != nil {
		p.held = p.b.lock()
	}
	err, came := comes(p.a.T, p.held, restartWatchdog+slack)
	if err != nil || !came {
		p.a.Fatalf("%s: the other side has it: %v; %v", p.b.name, came, err)
	}
	p.a.Logf("%s: the other side had it %v after the unlock", p.b.name, time.Since(began))
	p.b.unlock()
}

// mustBeLeftEmpty checks that nothing is left on a server but counters of tokens and the permits of semaphores, once
// it has forgotten what both sides remember for some seconds.
func mustBeLeftEmpty(t *testing.T, servers ...*redisserver.Server) {
	t.Helper()
	var left []string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		left = nil
		for _, s := range servers {
			answer, err := s.Command("KEYS", "*")
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range answer.([]any) {
				name := fmt.Sprint(key)
				if !strings.HasPrefix(name, "redisson_lock_token:") && !strings.HasPrefix(name, "semaphore ") {
					left = append(left, name)
				}
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %q", left)
}

// A server forgets all scripts while one side holds, and the other waits. Both send them again: the watchdog of the
// holder keeps the lock, and the unlock wakes the waiter.
func TestScriptsAreForgottenWhileBothSidesWait(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			config := javaside.Single(s.URL())
			config.Watchdog = watchdog
			java, golang := newProgram(t, version), newProgram(t, "")
			java.MustOpen("c", config)
			golang.MustOpen("c", config)
			pairs := holdAndWant(t, [][2]*side{{java, golang}, {golang, java}}, "c", s,
				"lock", "fenced", "fair", "write", "read", "semaphore")
			forget := func() {
				if _, err := s.Command("SCRIPT", "FLUSH"); err != nil {
					t.Fatal(err)
				}
			}
			forget()
			mustKeepOut(t, pairs, 2*watchdog)
			for _, p := range pairs {
				forget()
				if p.ended != nil {
					t.Fatalf("%s: the waiter has ended", p.b.name)
				}
				p.mustComeAfterUnlock()
			}
			mustBeLeftEmpty(t, s)
		})
	}
}
