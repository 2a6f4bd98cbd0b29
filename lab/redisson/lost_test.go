//go:build redisson

package redisson

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// lossyWatchdog is the watchdog timeout of programs in Java whose replies are lost. A reply is late after lossyTimeout.
const (
	lossyWatchdog = 6 * time.Second
	lossyTimeout  = 1500 * time.Millisecond
)

// lossy is a program in Java that misses replies, and one in Go that misses none.
type lossy struct {
	*testing.T
	java, golang *side
	server       *redisserver.Server

	mu    sync.Mutex
	rules map[string]redisserver.Action // for the next take or unlock of a name
}

// newLossy starts them. In mode "replicated", as in all modes with replicas, Redisson sends a take again that had no
// answer (its issue 7367). In mode "single" it does not.
func newLossy(t *testing.T, version, mode string) *lossy {
	l := &lossy{T: t, java: newProgram(t, version), golang: newProgram(t, ""), rules: map[string]redisserver.Action{}}
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	proxy := redisserver.ProxyForTest(t, r.Master.Addr())
	proxy.Intercept(l.decide)
	l.server = r.Master
	c := javaside.Single("redis://" + proxy.Addr())
	if mode == "replicated" {
		c = javaside.Several(mode, proxy.Addr(), r.Replicas[0].Addr())
	}
	c.Watchdog, c.Timeout, c.RetryDelay, c.WholeScripts = lossyWatchdog, lossyTimeout, 100*time.Millisecond, true
	l.java.MustOpen("c", c)
	c = javaside.Single(r.Master.URL())
	c.Watchdog = lossyWatchdog
	l.golang.MustOpen("c", c)
	return l
}

// lose loses the next take or unlock of a name, with CutBefore, or its reply, with CutAfter.
func (l *lossy) lose(what, name string, action redisserver.Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules[what+" "+name] = action
}

// decide is asked about each request of Java.
func (l *lossy) decide(request []byte) redisserver.Action {
	words := redisserver.Words(request)
	if len(words) < 4 || !strings.EqualFold(words[0], "EVAL") {
		return redisserver.Pass
	}
	what := "take "
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "redisson_unlock_latch:") }) {
		what = "unlock "
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	action := l.rules[what+words[3]]
	delete(l.rules, what+words[3])
	return action
}

// mustBeLost checks that everything was lost that should be.
func (l *lossy) mustBeLost() {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rules) > 0 {
		l.Fatalf("Java has not sent %v", l.rules)
	}
}

// lossyKinds are the locks that Java takes.
var lossyKinds = []string{"lock", "fenced", "spin", "fair", "write", "read"}

// newPair returns an object that Java takes, and that Go wants alone.
func (l *lossy) newPair(kind string) *heldAndWanted {
	name := fmt.Sprintf("%s of %s", kind, l.Name())
	p := &heldAndWanted{a: newThread(l.T, l.java, "c", kind, name), b: newThread(l.T, l.golang, "c", kind, name)}
	if kind == "read" {
		p.b.kind = "write"
	}
	return p
}

// mustCount checks how often the server counts that Java holds a lock.
func (l *lossy) mustCount(name string, want string) {
	l.Helper()
	answer, err := l.server.Command("HGETALL", name)
	if err != nil {
		l.Fatal(err)
	}
	fields, _ := answer.([]any)
	fields = slices.DeleteFunc(fields, func(f any) bool { return f == "mode" || f == "read" || f == "write" })
	if len(fields) != 2 || fields[1] != want {
		l.Fatalf("%s has the fields %v, want a count of %s", name, fields, want)
	}
}

// A take in Java whose reply is lost is sent again, and counts twice. It excludes Go for as long as Java holds it. One
// unlock in Java leaves the second count, of which nobody tells Go, and which no watchdog renews: a waiter in Go waits
// until the lease ends that this unlock has set, a watchdog timeout later. That harms no later holder.
func TestTakesOfJavaThatCountTwice(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, version, "replicated")
			var pairs []*heldAndWanted
			for _, kind := range lossyKinds {
				p := l.newPair(kind)
				l.lose("take", p.a.name, redisserver.CutAfter)
				p.a.mustTry(true)
				l.mustBeLost()
				l.mustCount(p.a.name, "2")
				p.held = p.b.lock()
				pairs = append(pairs, p)
			}
			mustKeepOut(t, pairs, lossyWatchdog*3/2)
			for _, p := range pairs {
				p.a.unlock()
				if version == javaside.Oldest && p.a.kind == "read" {
					continue // its watchdog fails to renew a reader's second hold, so the unlock has freed the lock
				}
				l.mustCount(p.a.name, "1")
				mustNotHave(t, p.held)
			}
			for _, p := range pairs {
				if err, came := comes(t, p.held, 2*lossyWatchdog+slack); err != nil || !came {
					t.Fatalf("%s: the waiter has it: %v; %v", p.b.name, came, err)
				}
				_, err := p.a.call("unlock") // once more: it frees nothing of Go's
				t.Logf("%s: one more unlock: %v", p.a.name, err)
				p.a.mustTry(false)
				p.b.unlock()
				p.a.mustTry(true)
				p.a.unlock()
			}
			mustBeLeftEmpty(t, l.server)
		})
	}
}

// One more unlock in Java ends the second count, and wakes the waiter in Go at once. A take that was lost before it had
// an effect counts once.
func TestTakesOfJavaThatAreUnlockedForEachCount(t *testing.T) {
	t.Parallel()
	l := newLossy(t, javaside.Newest, "replicated")
	for action, counts := range map[redisserver.Action]int{redisserver.CutBefore: 1, redisserver.CutAfter: 2} {
		p := l.newPair("lock")
		mustWake(t, fmt.Sprint("counts ", counts), wakeLimit, func() time.Duration {
			l.lose("take", p.a.name, action)
			p.a.mustTry(true)
			l.mustBeLost()
			l.mustCount(p.a.name, fmt.Sprint(counts))
			p.held = p.b.lock()
			awaitSubscriber(t, []*redisserver.Server{l.server}, "CHANNELS", channelOf("lock", p.a.name))
			for range counts - 1 {
				p.a.unlock()
				mustNotHave(t, p.held)
			}
			began := time.Now()
			p.a.unlock()
			if err, came := comes(t, p.held, woken); err != nil || !came {
				t.Fatalf("%s: the waiter has it: %v; %v", p.b.name, came, err)
			}
			took := time.Since(began)
			p.b.unlock()
			return took
		})
	}
}

// On a single server, Redisson sends no take again: the call in Java fails. If it had no effect, the lock is free. If
// it had, nobody renews it, and Go has the lock when its lease ends.
func TestTakesOfJavaWithoutAnAnswer(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, version, "single")
			for _, kind := range lossyKinds {
				p := l.newPair(kind)
				l.lose("take", p.a.name, redisserver.CutBefore)
				if got, err := p.a.tryLock(); err == nil {
					t.Fatalf("%s: a take that was lost: %v", p.a.name, got)
				}
				l.mustBeLost()
				p.b.mustTry(true)
				p.b.unlock()
			}
			type taken struct{ began, got time.Time }
			times := map[string]*taken{}
			var waiting sync.WaitGroup
			for _, kind := range lossyKinds {
				p, at := l.newPair(kind), &taken{began: time.Now()}
				times[kind] = at
				l.lose("take", p.a.name, redisserver.CutAfter)
				if got, err := p.a.tryLock(); err == nil {
					t.Fatalf("%s: a take whose reply was lost: %v", p.a.name, got)
				}
				l.mustBeLost()
				l.mustCount(p.a.name, "1")
				waiting.Go(func() {
					if err, came := comes(t, p.b.lock(), lossyWatchdog+slack); err != nil || !came {
						t.Errorf("%s: the waiter has it: %v; %v", p.b.name, came, err)
						return
					}
					at.got = time.Now()
					got, err := p.a.tryLock()
					if _, failed := p.b.call("unlock"); got != false || err != nil || failed != nil {
						t.Errorf("%s: tryLock in Java: %v, %v; unlock in Go: %v", p.b.name, got, err, failed)
					}
				})
			}
			waiting.Wait()
			for kind, at := range times {
				if lease := at.got.Sub(at.began); lease < lossyWatchdog-50*time.Millisecond {
					t.Errorf("%s: Go had it after %v, before the lease had ended", kind, lease)
				}
			}
			mustBeLeftEmpty(t, l.server)
		})
	}
}
