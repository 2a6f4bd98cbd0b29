package redisson

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// goPoll is how long a waiter in Go sleeps at most until it asks again without a message: 10 s, and up to an eighth
// more. Waiters in Java sleep until the lease would have ended, which is a minute here.
const goPoll = 10*time.Second + 10*time.Second/8

// unnotified are steps of which Redisson notifies nobody, and objects in Go do. Each lets a waiter in.
var unnotified = []struct {
	name, holds, wants string
	step               func(th thread)
	polls              bool // the waiter asks again and again
}{
	{name: "SpinForLock", holds: "spin", wants: "lock", step: thread.unlock},
	{name: "SpinForFenced", holds: "spin", wants: "fenced", step: thread.unlock},
	{name: "SpinForSpin", holds: "spin", wants: "spin", step: thread.unlock, polls: true},
	{name: "Downgrade", holds: "write", wants: "read", step: downgrade},
}

// downgrade turns the hold of a writer into that of a reader.
func downgrade(th thread) {
	th.Helper()
	reader := th
	reader.kind = "read"
	if err := <-reader.lock(); err != nil {
		th.Fatal(err)
	}
	th.unlock()
}

// An unlock of a SpinLock in Go, and the step from writing to reading, wake a waiter in Java at once. Of the same steps
// in Java no message tells, so a waiter in Go has the lock when it asks the next time.
func TestStepsOfWhichRedissonNotifiesNobody(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			java, golang := newProgram(t, version), newProgram(t, "")
			for i, sides := range [][2]*side{{java, golang}, {golang, java}} {
				s := redisserver.ForTest(t, redisserver.Config{})
				config, client := javaside.Single(s.URL()), fmt.Sprint("client", i)
				config.Watchdog = time.Minute
				java.MustOpen(client, config)
				golang.MustOpen(client, config)
				for _, u := range unnotified {
					t.Run(sides[0].language+"First/"+u.name, func(t *testing.T) {
						a := newThread(t, sides[0], client, u.holds, u.name)
						b := newThread(t, sides[1], client, u.wants, u.name)
						limit := wakeLimit
						measure := func() time.Duration { return measureStep(t, s, a, b, u.step, limit+woken) }
						switch {
						case u.polls:
							limit = time.Second
							mustWake(t, u.name, limit, measure)
						case sides[0] == golang:
							mustWake(t, u.name, limit, measure)
						default:
							t.Parallel()
							limit = goPoll + time.Second
							problem := lateness.Try(t, func() string {
								return judge(t, u.name, []time.Duration{measure()}, limit)
							})
							if problem != "" {
								t.Error(problem)
							}
						}
					})
				}
			}
		})
	}
}

// measureStep returns how long after a step of one thread another one, which waits, has the lock. It ends the test if
// that takes too long.
func measureStep(
	t *testing.T, s *redisserver.Server, a, b thread, step func(thread), patience time.Duration,
) time.Duration {
	if err := <-a.lock(); err != nil {
		t.Fatal(err)
	}
	only := &both{servers: []*redisserver.Server{s}}
	before := only.countScripts(t)
	held := b.lock()
	if b.kind != "spin" {
		awaitSubscriber(t, only.servers, "CHANNELS", channelOf(b.kind, b.name))
	}
	for only.countScripts(t) < before+2 { // it asks once more when it has subscribed
		mustNotHave(t, held)
	}
	if b.kind != "spin" {
		b.awaitSleep()
	}
	mustNotHave(t, held)
	began := time.Now()
	step(a)
	if err, came := comes(t, held, patience); err != nil || !came {
		t.Fatalf("the waiter has the lock: %v; %v", came, err)
	}
	took := time.Since(began)
	if b.kind == "read" {
		mustShare(a, b)
	}
	b.unlock()
	return took
}

func mustNotHave(t *testing.T, held <-chan error) {
	t.Helper()
	select {
	case err := <-held:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
}

// mustShare checks that two readers keep a writer out until both have unlocked, and unlocks the first one.
func mustShare(a, b thread) {
	a.Helper()
	a.kind = "read"
	writer := b
	writer.kind, writer.suffix = "write", " that writes"
	writer.mustTry(false)
	a.unlock()
	writer.mustTry(false)
}
