package redisson

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// several are servers that both languages use, of a Cluster or behind Sentinels.
type several struct {
	nodes  []*redisserver.Server // that send messages
	which  string                // of messages: CHANNELS or SHARDCHANNELS
	config javaside.Config
}

var severalServers = map[string]func(t *testing.T) several{
	"cluster": func(t *testing.T) several {
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
		return several{c.Nodes, "SHARDCHANNELS", javaside.Several("cluster", c.Addrs()...)}
	},
	"sentinel": func(t *testing.T) several {
		r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
		config := javaside.Several("sentinel", redisserver.SentinelsForTest(t, 3, r).Addrs()...)
		config.MasterName = redisserver.MasterName
		return several{[]*redisserver.Server{r.Master}, "CHANNELS", config}
	},
}

// start starts a program with two clients: of "patient", no lease ends soon.
func (s several) start(t *testing.T, version string) *side {
	program := newProgram(t, version)
	s.config.Watchdog = watchdog
	program.MustOpen("c", s.config)
	s.config.Watchdog = time.Minute
	program.MustOpen("patient", s.config)
	return program
}

// holdAndWant lets one side hold all kinds of locks, for which the other one waits. The names are in several slots.
func (s several) holdAndWant(t *testing.T, client, what string, holder, rival *side) (pairs []*heldAndWanted) {
	for _, kind := range []string{"lock", "fenced", "spin", "fair", "write", "read"} {
		name := fmt.Sprintf("%s of %s, %s", kind, t.Name(), what)
		p := &heldAndWanted{a: newThread(t, holder, client, kind, name), b: newThread(t, rival, client, kind, name)}
		if kind == "read" { // while another one writes
			p.a.kind = "write"
		}
		p.since = time.Now()
		if err := <-p.a.lock(); err != nil {
			t.Fatal(err)
		}
		p.held = p.b.lock()
		pairs = append(pairs, p)
	}
	for _, p := range pairs {
		if p.b.kind != "spin" {
			awaitSubscriber(t, s.nodes, s.which, channelOf(p.b.kind, p.b.name))
			p.b.awaitSleep()
		}
	}
	return pairs
}

// On a Cluster and behind Sentinels, a watchdog keeps locks from the other side, a forced unlock is noticed, and the
// locks of a program that was killed are free when their leases have ended.
func TestBothSidesOnSeveralServers(t *testing.T) {
	for _, version := range beside {
		for name, servers := range severalServers {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := servers(t)
				java, golang := s.start(t, version), s.start(t, "")
				t.Run("sides", func(t *testing.T) { // returns when both are done
					for _, sides := range [][2]*side{{java, golang}, {golang, java}} {
						t.Run(sides[0].language+"First", func(t *testing.T) {
							t.Parallel()
							s.testWatchdogs(t, sides[0], sides[1])
							s.testForcedUnlocks(t, sides[0], sides[1])
							dies := map[*side]string{java: version}[sides[0]]
							s.testKilledHolder(t, dies, sides[1])
						})
					}
				})
				mustBeLeftEmpty(t, s.nodes...)
			})
		}
	}
}

func (s several) testWatchdogs(t *testing.T, holder, rival *side) {
	pairs := s.holdAndWant(t, "c", "kept", holder, rival)
	mustKeepOut(t, pairs, 3*watchdog)
	for _, p := range pairs {
		if p.ended != nil {
			t.Fatalf("%s: the waiter has ended", p.b.name)
		}
		p.mustComeAfterUnlock()
	}
}

// A forced unlock by the other side wakes its waiter, and the holder finds that the lock is not its own.
func (s several) testForcedUnlocks(t *testing.T, holder, rival *side) {
	force := func(p *heldAndWanted) {
		by := p.b
		by.kind, by.suffix = p.a.kind, " by force"
		if ok, err := by.call("forceUnlock"); ok != true || err != nil {
			t.Fatalf("%s: forceUnlock in %s: %v, %v", by.name, by.side.language, ok, err)
		}
	}
	end := func(p *heldAndWanted) {
		if err, came := comes(t, p.held, woken); err != nil || !came {
			t.Fatalf("%s: the waiter in %s has it: %v; %v", p.b.name, p.b.side.language, came, err)
		}
		_, err := p.a.call("unlock")
		if e, ok := errors.AsType[javaside.Error](err); !ok || e.Class() != "IllegalMonitorStateException" {
			t.Errorf("%s: an unlock after the forced one: %v", p.a.name, err)
		}
		p.b.unlock()
	}
	for _, p := range s.holdAndWant(t, "patient", "forced", holder, rival) { // nobody asks again
		force(p)
		end(p)
	}
	for _, p := range s.holdAndWant(t, "c", "forced", holder, rival) {
		force(p)
		if holder.language == "Go" { // Java logs it
			if cause, err := p.a.call("lost"); err != nil {
				t.Errorf("%s: the holder was told: %v, %v", p.a.name, cause, err)
			}
		}
		end(p)
	}
}

// testKilledHolder kills a program of a version of Redisson, or of Go, that holds locks.
func (s several) testKilledHolder(t *testing.T, version string, rival *side) {
	attempt := 0
	problem := lateness.Try(t, func() string {
		attempt++
		victim := s.start(t, version)
		pairs := s.holdAndWant(t, "c", fmt.Sprint("killed ", attempt), victim, rival)
		victim.Kill()
		killed := time.Now()
		got := make([]time.Time, len(pairs))
		var waiting sync.WaitGroup
		for i, p := range pairs {
			waiting.Go(func() {
				if err := <-p.held; err != nil {
					t.Errorf("%s: %v", p.b.name, err)
				}
				got[i] = time.Now()
			})
		}
		waiting.Wait()
		problem := ""
		for i, p := range pairs {
			p.b.unlock()
			if lease := got[i].Sub(p.since); lease < watchdog-50*time.Millisecond {
				t.Errorf("%s: %s had it after %v, before the lease had ended", p.b.name, rival.language, lease)
			}
			if took := got[i].Sub(killed); took > watchdog+slack {
				problem = fmt.Sprintf("%s: %s had it %v after the holder was killed", p.b.name, rival.language, took)
			}
		}
		return problem
	})
	if problem != "" {
		t.Error(problem)
	}
}
