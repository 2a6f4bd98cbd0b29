package redisson_test

import (
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// deviations are those of RLock, RFencedLock and RSpinLock. docs/redisson.md says what they are for.
var deviations = []redissonwire.Deviation{
	{Why: "No script is sent twice, so none notes that it has run.", Line: `^[kw] .*redisson_unlock_latch:.*`},
	{Why: "The program counts how often it has locked, so an unlock does not count down before it deletes.",
		Line: `^w hincrby \S+ \S+ -1$`},
	{Why: "Locks with tokens have fields of their own.", Line: `^w hset \S+ leasehold:.*`},
	{Why: "Locks with tokens have fields of their own.", Line: `, leasehold:holder: "[^"]*", leasehold:token: \d+`},
	{Why: "A client may take several tokens at once.", Line: `^w incr (redisson_lock_token:\S+)$`, To: "w incrby $1 1"},
}

// ofSpin are those of RSpinLock alone.
var ofSpin = []redissonwire.Deviation{
	{Why: "An unlock notifies waiters of an RLock.", Line: `^(m|w publish) redisson_lock__channel:.*`},
}

// ofReadWrite are those of RReadWriteLock alone.
var ofReadWrite = []redissonwire.Deviation{
	{Why: "Tokens and texts about holders are in a key that is deleted with the lock.",
		Line: `^(w del \S+) leasehold_holders:\S+$`, To: "$1"},
	{Why: "Tokens and texts about holders are in a key of their own.", Line: `^[kw] .*leasehold_holders:.*`},
	{Why: "It has tokens, as an RFencedLock has.", Line: `^[kw] .*redisson_lock_token:.*`},
	{Why: "A reader holds once.", Line: `^w hincrby (\S+ \S+ 1)$`, To: "w hset $1"},
	{Why: "A ttl is set only if it grows. In Redisson, a shorter lease sets what is left.",
		Line: `^w pexpire \S+ ~\d+$`},
	{Why: "A reader's key and its ttl are set by one command. The ttl is that of the key that is left.",
		Line: `^w (pexpire \S+:rwlock_timeout:1 \d+|set \S+:rwlock_timeout:1 1( px \d+)?)$`},
	{Why: "An unlock of what is gone notifies nobody.", Of: "! IllegalMonitorStateException",
		Line: `^(m|w publish) redisson_rwlock:.*`},
}

// TestWritesOfLocksAreRedissons plays what was recorded of locks without a queue on engines. The scripts write the same
// as Redisson's, publish the same, and leave the same keys, but for the deviations. Owners of engines do not re-enter:
// package objects plays that, and fair locks.
func TestWritesOfLocksAreRedissons(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		lock       redisson.LockType
		deviations []redissonwire.Deviation
		leftOut    []string
	}{
		"lock": {redisson.Plain, deviations, []string{
			"lock and a lease", "re-entry", "re-entry with a lease into a lock that the watchdog renews",
			"a lease given with a re-entry does not end the renewals, which cut it",
			"a key of another type", // it is left alone
			"a lease that has ended is the next one of the same object, too", // a fault
		}},
		"fenced": {redisson.Fenced, deviations, []string{
			"re-entry",
			"tryLockAndGetToken without a limit waits, unlike its name says", // a fault
			"lockAndGetToken ignores the lease it is given",                  // a fault
			"delete", // it deletes the counter, too: later tokens would be smaller
		}},
		"spin": {redisson.Spin, slices.Concat(deviations[:2], ofSpin), []string{"re-entry"}},
		"readwrite": {redisson.ReadWrite, slices.Concat(deviations[:2], ofReadWrite), []string{
			"a reader again", "a writer again", "a writer becomes a reader", "a writer reads for a while",
			"a reader waits for a writer who becomes a reader",
			"forceUnlock of a reader", "forceUnlock of a writer", // package objects plays them
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) {
				side := newWireSide(t, recorded.lock)
				return side, []*redisserver.Server{side.server}
			}
			w := redissonwire.NewRewriter(recorded.deviations)
			redissonwire.Play(t, "testdata/wire/"+file+".txt", setup, redissonwire.Options{
				Parts:   func(title string) bool { return !slices.Contains(recorded.leftOut, title) },
				Rewrite: w.Rewrite,
			})
			if file != "lock" { // which has no tokens
				w.CheckUsed(t)
			}
		})
	}
}
