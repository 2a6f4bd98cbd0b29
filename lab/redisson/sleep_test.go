package redisson

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// sleeper is a waiter that no message tells that it may have what the other side has held.
type sleeper struct {
	language string // of the waiter
	kind     kind
	lease    time.Duration // of the other side, if the object has leases
	// limit is the longest that it sleeps, as the page says. 0 stands for ever.
	limit time.Duration
	// exact: it sleeps for about as long.
	exact bool
}

// Leases of holders: one that ends before the waiter would ask of itself, and one that does not.
const ending, lasting = 4 * time.Second, time.Minute

// statedSleeps returns the times in the columns of Go and Java of a row of the page, which are patterns.
func statedSleeps(t *testing.T, row, golang, java string) []time.Duration {
	t.Helper()
	return statedTimes(t, `(?m)^\| `+regexp.QuoteMeta(row)+` \| `+golang+` \| `+java+` \|$`)
}

// sleepers returns one for each object, language and kind of lease, by the table of the page.
func sleepers(t *testing.T) (all []sleeper) {
	const number = `([0-9.]+) s`
	add := func(language string, lease, limit time.Duration, exact bool, kinds ...kind) {
		for _, k := range kinds {
			all = append(all, sleeper{language, k, lease, limit, exact})
		}
	}
	one := func(name string) kind { return kind{holds: name, wants: name} }
	permits, fair, spin, multi, red := one("permits"), one("fair"), one("spin"), one("multi"), one("red")
	numbers := []kind{one("semaphore"), one("latch")}
	locks := []kind{one("lock"), one("fenced"), {holds: "write", wants: "read"}, {holds: "read", wants: "write"}}
	const eighthMore = ending + ending/8

	stated := statedSleeps(t, "`RLock`, `RFencedLock`, `RReadWriteLock`",
		number+`, or what was left of the lease and an eighth more`, `what was left of the lease`)
	longest := stated[0]
	add("Go", lasting, longest, true, locks...)
	add("Go", ending, eighthMore, true, locks...)
	add("Java", ending, ending, true, locks...)

	stated = statedSleeps(t, "`RFairLock`", number, `as above, or until the deadline of the waiter before it`)
	add("Go", lasting, stated[0], false, fair)
	add("Java", ending, ending, true, fair)

	stated = statedSleeps(t, "`RSpinLock`", number, `some `+number)
	add("Go", lasting, stated[0], false, spin)
	add("Java", lasting, stated[1], false, spin)

	stated = statedSleeps(t, "`RedissonMultiLock`; `RedissonRedLock`",
		`as the lock it waits for; `+number+` between rounds`, `some `+number+` for each lock`)
	add("Go", lasting, longest, true, multi)
	add("Java", lasting, 2*stated[1], false, multi)
	add("Go", lasting, stated[0], false, red)
	add("Java", lasting, 3*stated[1], false, red)

	statedSleeps(t, "`RPermitExpirableSemaphore`", "as `RLock`, for the lease that ends first",
		`until the first lease ends; without one, for ever`)
	add("Go", lasting, longest, true, permits)
	add("Go", ending, eighthMore, true, permits)
	add("Java", ending, ending, true, permits)

	stated = statedSleeps(t, "`RSemaphore`, `RCountDownLatch`", number, `for ever, or until its limit`)
	add("Go", 0, stated[0], true, numbers...)
	add("Java", 0, 0, false, numbers...)
	return all
}

// A waiter that misses the message of an unlock sleeps for as long as docs/redisson.md says, and then has the lock.
func TestWaitersThatMissAMessage(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBoth(t, version)
			for i, s := range sleepers(t) {
				t.Run(fmt.Sprint(s.kind, " in ", s.language, " ", s.lease), func(t *testing.T) {
					t.Parallel()
					attempt := 0
					problem := lateness.Try(t, func() (problem string) {
						// On a busy machine, a waiter has not asked for the last time when it is believed to sleep.
						for _, patience := range []time.Duration{asleep, 2 * asleep, 4 * asleep} {
							attempt++
							problem = b.measureSleep(t, s, fmt.Sprintf("sleep-%d-%d.", i, attempt), patience)
							if problem == "" {
								return ""
							}
						}
						return problem
					})
					if problem != "" {
						t.Error(problem)
					}
				})
			}
		})
	}
}

// measureSleep lets a waiter sleep while it may have what it waits for. It returns what is wrong. patience is how long
// it may be busy after it has subscribed.
func (b *both) measureSleep(t *testing.T, s sleeper, name string, patience time.Duration) (problem string) {
	holder, waiter := b.java, b.golang
	if s.language == "Java" {
		holder, waiter = waiter, holder
	}
	p := &pair{T: t, both: b, kind: s.kind,
		a: &lock{side: holder, patient: true, kind: s.kind.holds, thread: name + " holds", name: name},
		b: &lock{side: waiter, patient: true, kind: s.kind.wants, thread: name + " waits", name: name},
	}
	p.setPermits()
	p.hold(s.lease)
	held := p.want()
	if channel := p.channel(); channel != "" {
		p.must(b.awaitSubscriber(t.Context(), channel))
	}
	time.Sleep(patience) // it asks once more when it has subscribed
	began := time.Now()
	p.freeSilently()
	if s.limit == 0 {
		return p.mustSleepOn(held)
	}
	p.must(<-held)
	took := time.Since(began)
	t.Logf("the waiter had it after %v", took)
	p.letGo()
	const tolerance = 500 * time.Millisecond
	if took > s.limit+tolerance || s.exact && took < s.limit*2/3 {
		return fmt.Sprintf("the waiter had it after %v, and the page says %v", took, s.limit)
	}
	return ""
}

// hold lets the first side hold for a time.
func (p *pair) hold(lease time.Duration) {
	p.Helper()
	if p.kind.holds == "latch" {
		_, err := p.a.call(p.Context(), "trySetCount", 1)
		p.must(err)
		return
	}
	p.must(p.a.Lock(p.Context(), int(lease.Milliseconds())))
}

// want lets the other side wait.
func (p *pair) want() <-chan error {
	held := make(chan error, 1)
	go func() {
		if p.kind.wants == "latch" {
			_, err := p.b.call(p.Context(), "await")
			held <- err
			return
		}
		held <- p.b.Lock(p.Context())
	}()
	return held
}

// letGo ends what the other side holds.
func (p *pair) letGo() {
	if p.kind.wants != "latch" {
		p.must(p.b.Unlock(p.Context()))
	}
}

// freeSilently ends all holds, as an unlock whose message is lost. Queues stay.
func (p *pair) freeSilently() {
	p.Helper()
	const script = `
		for _, key in ipairs(redis.call('keys', '*' .. ARGV[1] .. '*')) do
			local isKept = false
			for _, word in ipairs({'redisson_lock_', 'leasehold_waiters', 'leasehold_permits_set'}) do
				isKept = isKept or string.find(key, word, 1, true)
			end
			if not isKept then redis.call('del', key) end
		end
		if ARGV[2] == 'permits' or ARGV[2] == 'semaphore' then redis.call('set', ARGV[1], 1) end`
	for _, s := range p.servers {
		_, err := s.Command("EVAL", script, "0", p.a.name, p.kind.holds)
		p.must(err)
	}
}

// mustSleepOn checks that the other side sleeps for longer than any in Go, and is woken by a message.
func (p *pair) mustSleepOn(held <-chan error) (problem string) {
	select {
	case err := <-held:
		return fmt.Sprintf("it was to sleep for ever, and has not: %v", err)
	case <-time.After(12 * time.Second):
	}
	if p.kind.holds == "semaphore" {
		_, err := p.a.call(p.Context(), "addPermits", 1)
		p.must(err)
	} else {
		p.hold(0)
		_, err := p.a.side.Call(p.Context(), javaside.Call{Client: p.a.client("1"), Thread: "counts " + p.a.thread,
			Op: "latch.countDown", Name: p.a.name})
		p.must(err)
	}
	p.must(<-held)
	p.letGo()
	return ""
}
