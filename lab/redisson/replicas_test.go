package redisson

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// confirmWait is how long programs in Go wait for a replica to confirm.
const confirmWait = watchdog / 6

// replicated are programs in both languages on a master, whose replica must confirm what those in Go take.
type replicated struct {
	*both
	replica *redisserver.Server
}

func newReplicated(t *testing.T, version string) *replicated {
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	b := &replicated{&both{servers: []*redisserver.Server{r.Master}}, r.Replicas[0]}
	b.java, b.golang = newProgram(t, version), newProgram(t, "")
	c := javaside.Single(r.Master.URL())
	c.Replicas, c.ReplicasWait = 1, confirmWait
	for client, timeout := range map[string]time.Duration{"client1": watchdog, "patient1": time.Minute} {
		c.Watchdog = timeout
		b.java.MustOpen(client, c)
		b.golang.MustOpen(client, c)
	}
	return b
}

// pairs returns an object of each kind in the hands of both sides. A red lock is of several servers.
func (b *replicated) pairs(t *testing.T, what string, holder, rival *side, except ...string) (all []*pair) {
	for _, k := range kinds {
		if k.holds == "red" || slices.Contains(except, k.holds) {
			continue
		}
		p := b.newPair(t, k, holder, rival)
		p.a.name, p.b.name = what+" "+p.a.name, what+" "+p.b.name
		p.setPermits()
		all = append(all, p)
	}
	return all
}

// pause stops the replica, so that it confirms nothing, until the returned function is called or the test ends.
func (b *replicated) pause(t *testing.T) (resume func()) {
	t.Helper()
	if err := b.replica.Pause(); err != nil {
		t.Fatal(err)
	}
	goOn := func() {
		if err := b.replica.Resume(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(goOn)
	return func() {
		goOn()
		if err := b.replica.AwaitReplicaOf(b.servers[0]); err != nil {
			t.Error(err)
		}
	}
}

// mustBeReplicated checks that the replica knows what a program in Go has taken.
func (b *replicated) mustBeReplicated(p *pair, l *lock) {
	p.Helper()
	if l.side != b.golang || l.kind == "semaphore" || l.kind == "permits" { // which exist when they are free, too
		return
	}
	name := l.name
	if l.kind == "multi" {
		name += " 2"
	}
	if known, err := b.replica.Command("EXISTS", name); known != int64(1) || err != nil {
		p.Errorf("%v: the replica does not know what Go holds: %v, %v", p.kind, known, err)
	}
}

// What a program in Go takes beside one in Java is confirmed by the replica, whoever held it before. While the replica
// does not answer, no program in Go gets anything, and those in Java lose nothing by that.
func TestReplicasConfirmBesideJava(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newReplicated(t, version)
			for _, test := range []struct { // one after the other, as they pause the replica
				name string
				f    func(*testing.T)
			}{
				{"BothWays", func(t *testing.T) { b.directions(t, b.testConfirmed) }},
				{"GoIsRefused", b.testRefused},
				{"GoWaits", b.testWaitsForReplica},
				{"GoHolds", b.testHolderWithoutReplica},
			} {
				t.Run(test.name, test.f)
			}
		})
	}
}

// testConfirmed lets one side hold everything, and the other wait for it.
func (b *replicated) testConfirmed(t *testing.T, holder, rival *side) {
	for _, p := range b.pairs(t, "confirmed", holder, rival) {
		mustConfirm := func(err error, l *lock) {
			p.must(err)
			b.mustBeReplicated(p, l)
		}
		problem := lateness.Try(t, func() string { // replicas of busy machines are late
			if err := p.a.Lock(t.Context()); err != nil {
				return err.Error()
			}
			return ""
		})
		if problem != "" {
			t.Fatalf("%v: %s", p.kind, problem)
		}
		mustConfirm(nil, p.a)
		p.mustTry(p.b, false)
		held := p.want()
		p.must(p.a.Unlock(t.Context()))
		mustConfirm(<-held, p.b)
		p.must(p.b.Unlock(t.Context()))
	}
}

// testRefused lets programs in Go try what is free. They get an error, and leave nothing in the way of Java.
func (b *replicated) testRefused(t *testing.T) {
	pairs := b.pairs(t, "refused", b.golang, b.java)
	resume := b.pause(t)
	for _, p := range pairs {
		ok, err := p.a.TryLock(t.Context())
		if ok || err == nil || !strings.Contains(err.Error(), "replicas confirmed") {
			t.Errorf("%v: a take that no replica confirms: %v, %v", p.kind, ok, err)
		}
		if !p.anonymous { // whose undoing is not waited for
			p.mustTry(p.b, true)
		} else {
			p.must(p.b.Lock(t.Context()))
		}
		p.must(p.b.Unlock(t.Context()))
	}
	resume()
}

// testWaitsForReplica lets programs in Go wait for what Java holds, and another thread of Java behind them. While the
// replica does not answer, that thread gets what Java unlocks. Go gets it later.
func (b *replicated) testWaitsForReplica(t *testing.T) {
	pairs := b.pairs(t, "waits", b.java, b.golang)
	inGo, inJava := map[*pair]<-chan error{}, map[*pair]<-chan error{}
	behind := map[*pair]*pair{}
	for _, p := range pairs {
		p.a.patient, p.b.patient = true, true // waiters give up if the replica is away for a watchdog timeout
		p.must(p.a.Lock(t.Context()))
		inGo[p] = p.want()
		if channel := p.channel(); channel != "" {
			p.must(b.awaitSubscriber(t.Context(), channel))
		}
		other := *p
		third := *p.third()
		third.side = b.java
		other.b = &third
		behind[p], inJava[p] = &other, other.want()
	}
	time.Sleep(asleep)
	resume := b.pause(t)
	for _, p := range pairs {
		p.must(p.a.Unlock(t.Context()))
		err, came := comes(t, inJava[p], watchdog+slack)
		if err != nil || !came {
			t.Fatalf("%v: another thread of Java has it: %v, %v", p.kind, came, err)
		}
		select {
		case err := <-inGo[p]:
			t.Errorf("%v: Go has not waited for the replica: %v", p.kind, err)
		default:
		}
		p.must(behind[p].b.Unlock(t.Context()))
	}
	resume()
	for _, p := range pairs {
		p.must(<-inGo[p])
		b.mustBeReplicated(p, p.b)
		p.must(p.b.Unlock(t.Context()))
	}
}

// testHolderWithoutReplica lets programs in Go hold what Java waits for. When no renewal is confirmed any more, they
// are told that they have lost it, before Java gets it. Permits of a semaphore without leases stay held.
func (b *replicated) testHolderWithoutReplica(t *testing.T) {
	pairs := b.pairs(t, "holds", b.golang, b.java, "semaphore", "permits")
	inJava := map[*pair]<-chan error{}
	for _, p := range pairs {
		p.must(p.a.Lock(t.Context()))
		inJava[p] = p.want()
	}
	resume := b.pause(t)
	for _, p := range pairs {
		err, came := comes(t, inJava[p], 3*watchdog+slack)
		if err != nil || !came {
			t.Fatalf("%v: Java has it: %v, %v", p.kind, came, err)
		}
		if holds, err := p.a.call(t.Context(), "isHeldByCurrentThread"); holds != false || err != nil {
			t.Errorf("%v: Go holds what Java has: %v, %v", p.kind, holds, err)
		}
		p.mustBeGone(p.a)
		p.must(p.b.Unlock(t.Context()))
	}
	resume()
}
