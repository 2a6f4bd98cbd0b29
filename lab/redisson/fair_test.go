package redisson

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/goside"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// fairSides are programs in both languages that share the fair locks of a server.
type fairSides struct {
	*testing.T
	server *redisserver.Server
	sides  map[string]*side // by language, and "killed" before those that the test kills
}

func newFairSides(t *testing.T, version string, fairWait time.Duration, languages ...string) *fairSides {
	t.Helper()
	s := &fairSides{t, redisserver.ForTest(t, redisserver.Config{}), map[string]*side{}}
	for _, language := range languages {
		started := &side{language: language}
		if language == "Go" || language == "killed Go" {
			started.Program = goside.Start(t)
		} else {
			started.Program = javaside.Start(t, version)
		}
		c := javaside.Single(s.server.URL())
		c.Watchdog, c.FairWait = watchdog, fairWait
		started.MustOpen("client1", c)
		s.sides[language] = started
	}
	return s
}

// thread returns a lock in the hands of a thread.
func (s *fairSides) thread(language, thread, name string) *lock {
	return &lock{side: s.sides[language], kind: "fair", thread: name + " " + thread, name: name}
}

func (s *fairSides) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// wait lets a thread wait for a lock, and returns when it is in the queue and listens. The channel tells when it has
// locked.
func (s *fairSides) wait(l *lock) (locked <-chan time.Time) {
	s.Helper()
	before := len(s.queue(l.name))
	at := make(chan time.Time, 1)
	go func() {
		if l.Lock(s.Context()) == nil {
			at <- time.Now()
		}
	}()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if queue := s.queue(l.name); len(queue) > before {
			channel := "redisson_lock__channel:{" + l.name + "}:" + queue[len(queue)-1]
			answer, err := s.server.Command("PUBSUB", "NUMSUB", channel)
			s.must(err)
			if list, _ := answer.([]any); len(list) == 2 && list[1] != int64(0) {
				return at
			}
		}
	}
	s.Fatalf("a thread of %s has not joined the queue of %s", l.side.language, l.name)
	return nil
}

func (s *fairSides) queue(name string) (owners []string) {
	s.Helper()
	answer, err := s.server.Command("LRANGE", "redisson_lock_queue:{"+name+"}", "0", "-1")
	s.must(err)
	list, _ := answer.([]any)
	for _, owner := range list {
		owners = append(owners, fmt.Sprint(owner))
	}
	return owners
}

// locksWithin returns how long after began a waiter had the lock, and what is wrong if that was too late.
func (s *fairSides) locksWithin(
	locked <-chan time.Time, began time.Time, limit time.Duration,
) (took time.Duration, problem string) {
	select {
	case at := <-locked:
		return at.Sub(began).Round(time.Millisecond), ""
	case <-time.After(time.Until(began.Add(limit))):
		return 0, fmt.Sprintf("a waiter has no lock after %v", limit)
	}
}

// Waiters of both languages get a fair lock in the order in which they have joined the queue.
func TestFairLocksKeepTheOrderOfBothLanguages(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newFairSides(t, version, 0, "Java", "Go")
			const rounds = 6
			for round := range rounds {
				languages := []string{"Java", "Java", "Java", "Go", "Go", "Go"}
				rand.Shuffle(len(languages), func(i, j int) {
					languages[i], languages[j] = languages[j], languages[i]
				})
				holder := s.thread([]string{"Java", "Go"}[round%2], "holder", "order")
				s.must(holder.Lock(t.Context()))
				granted := make(chan int, len(languages))
				var work sync.WaitGroup
				for i, language := range languages {
					l := s.thread(language, fmt.Sprint(i), "order")
					locked := s.wait(l)
					work.Go(func() {
						<-locked
						granted <- i
						if err := l.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				s.must(holder.Unlock(t.Context()))
				var order []int
				for range languages {
					select {
					case i := <-granted:
						order = append(order, i)
					case <-time.After(20 * time.Second):
						t.Fatalf("round %d: of %v, %v got the lock", round, languages, order)
					}
				}
				work.Wait()
				if !slices.IsSorted(order) {
					t.Errorf("round %d: %v got the lock in the order %v", round, languages, order)
				}
			}
		})
	}
}

// A thread of Java keeps its place for as long as programs in Go hold the lock, though it counts on no more than
// fairLockWaitTimeout, which is a second here. It asks again when the lease that it knows would have ended, and would
// remove itself then.
func TestFairLocksKeepThePlacesOfJava(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newFairSides(t, version, time.Second, "Java", "Go")
			attempt := 0
			problem := lateness.Try(t, func() string {
				attempt++
				return s.testPlaces(fmt.Sprint("place ", attempt))
			})
			if problem != "" {
				t.Error(problem)
			}
		})
	}
}

// testPlaces lets a thread of Java wait between two of Go. It returns what is wrong.
func (s *fairSides) testPlaces(name string) string {
	const hold, limit = 4 * watchdog, 2 * time.Second
	holder, second := s.thread("Go", "holder", name), s.thread("Go", "second", name)
	s.must(holder.Lock(s.Context()))
	secondLocked := s.wait(second)
	java, last := s.thread("Java", "waiter", name), s.thread("Go", "last", name)
	javaLocked := s.wait(java)
	lastLocked := s.wait(last)
	queue := s.queue(name)
	for _, next := range []<-chan time.Time{secondLocked, javaLocked} {
		time.Sleep(hold)
		if got := s.queue(name); !slices.Equal(got, queue) {
			return fmt.Sprintf("the queue was %v, and is %v", queue, got)
		}
		s.must(holder.Unlock(s.Context()))
		took, problem := s.locksWithin(next, time.Now(), limit)
		if problem != "" {
			return problem
		}
		s.Logf("the next had the lock %v after the unlock", took)
		holder, queue = second, queue[1:]
	}
	s.must(java.Unlock(s.Context()))
	if _, problem := s.locksWithin(lastLocked, time.Now(), limit); problem != "" {
		return problem
	}
	s.must(last.Unlock(s.Context()))
	return ""
}

// A program that is killed while it waits for a fair lock delays the next one by the times that docs/redisson.md
// states.
func TestFairLocksOfKilledWaiters(t *testing.T) {
	t.Parallel()
	if problem := lateness.Try(t, func() string { return testKilledWaiters(t) }); problem != "" {
		t.Error(problem)
	}
}

// testKilledWaiters kills two programs that wait. It returns who had a lock too late, or too early, behind them.
func testKilledWaiters(t *testing.T) (problem string) {
	stated := statedTimes(t, `killed delays those behind it by ([0-9.]+) s if it was in Go, `+
		`by ([0-9.]+) s if in Java, `+
		`and by ([0-9.]+) s more if Java unlocks`)
	ofGo, ofJava, poll := stated[0], stated[1], stated[2]
	unseen := statedTimes(t, `a killed waiter in Go delays them by up to ([0-9.]+) s and the watchdog timeout`)[0]
	s := newFairSides(t, javaside.Newest, 0, "Java", "Go", "killed Java", "killed Go")
	cases := []struct {
		holder, killed, next, behind string
		limit                        time.Duration
	}{
		{"Go", "killed Go", "Go", "", ofGo},
		{"Go", "killed Go", "Java", "", ofGo},
		{"Java", "killed Go", "Go", "", ofGo + poll},
		{"Java", "killed Go", "Java", "Go", ofGo + poll},
		{"Java", "killed Go", "Java", "", unseen + watchdog},
		{"Go", "killed Java", "Go", "", ofJava},
		{"Go", "killed Java", "Java", "", ofJava},
		{"Java", "killed Java", "Go", "", ofJava + poll},
		{"Java", "killed Java", "Java", "Go", ofJava + poll},
	}
	held, next := make([]*lock, len(cases)), make([]<-chan time.Time, len(cases))
	for i, c := range cases {
		name := fmt.Sprint("killed ", i)
		held[i] = s.thread(c.holder, "holder", name)
		s.must(held[i].Lock(t.Context()))
		s.wait(s.thread(c.killed, "waiter", name))
		next[i] = s.wait(s.thread(c.next, "next", name))
		if c.behind != "" {
			s.wait(s.thread(c.behind, "behind", name))
		}
	}
	s.sides["killed Java"].Kill()
	s.sides["killed Go"].Kill()
	began := make([]time.Time, len(cases))
	for i := range cases {
		began[i] = time.Now()
		s.must(held[i].Unlock(t.Context()))
	}
	for i, c := range cases {
		took, wrong := s.locksWithin(next[i], began[i], c.limit+slack)
		t.Logf("%s unlocks, behind a waiter in %s: %s had the lock after %v%s", c.holder, c.killed, c.next, took, wrong)
		if wrong == "" && c.holder == "Go" && took < c.limit-slack/4 {
			wrong = fmt.Sprintf("a killed waiter delays the next by %v, and the page says by %v", took, c.limit)
		}
		problem = cmp.Or(problem, wrong)
	}
	return problem
}
