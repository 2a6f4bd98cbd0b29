package objects_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
)

// counts are those of all locks.
var counts = []redissonwire.Deviation{
	deviations[0],
	{Why: "The program counts how often it has locked, so an unlock does not count down before it deletes.",
		Line: `^w hincrby \S+ \S+ -1$`},
}

// gone is the result of an unlock of what is not held.
const gone = "! IllegalMonitorStateException"

// ofAgain are those of locks that are locked again.
var ofAgain = []redissonwire.Deviation{
	{Why: "The program counts how often it has locked.", Line: `(\S+:t\d(:write)?): \d+`, To: "$1"},
	{Why: "Locking again never shortens a lease, and an unlock does not set it anew.", Line: `^w pexpire .*`},
	{Why: "Locking again never shortens a lease, and an unlock does not set it anew.", Line: ` ttl ~\d+`},
}

// ofCounts is one more of those.
var ofCounts = []redissonwire.Deviation{
	{Why: "The program counts how often it has locked.", Line: `^w hincrby \S+ \S+ 1$`},
}

// ofTokens are those of locks that have tokens: RFencedLock has them in Redisson, too.
var ofTokens = []redissonwire.Deviation{
	{Why: "Locks with tokens have fields of their own.", Line: `^w hset \S+ leasehold:.*`},
	{Why: "Locks with tokens have fields of their own.", Line: `, leasehold:holder: "[^"]*", leasehold:token: \d+`},
	{Why: "A client may take several tokens at once.", Line: `^w incr (redisson_lock_token:\S+)$`, To: "w incrby $1 1"},
}

// ofFair are those of RFairLock. How its queue is kept is not compared, but who is in it, and in which order.
var ofFair = []redissonwire.Deviation{
	{Why: "It has tokens, as an RFencedLock has.", Line: `^[kw] .*redisson_lock_token:.*`},
	{Why: "It has tokens, as an RFencedLock has.", Line: `, leasehold:holder: "[^"]*", leasehold:token: \d+`},
	{Why: "It has tokens, as an RFencedLock has.",
		Line: `^w hset (\S+) leasehold:token \d+ leasehold:holder ("[^"]*"|\S+) `, To: "w hset $1 "},
	{Why: "What is known of waiters in Go is in keys of their own.", Line: `^[kw] .*leasehold_waiters:.*`},
	{Why: "One call does what several of Redisson do, to keep waiters in their places.",
		Line: `^w (lpop|rpush|lrem|zadd|zrem|zincrby) redisson_lock_(queue|timeout):.*`},
	{Why: "A waiter in Go has a short deadline, and puts it off.", Line: `: now[+]\d+`, To: ": LATER"},
}

// ofReadWrite are those of RReadWriteLock.
var ofReadWrite = []redissonwire.Deviation{
	{Why: "It has tokens, as an RFencedLock has.", Line: `^[kw] .*redisson_lock_token:.*`},
	{Why: "Tokens and texts about holders are in a key that is deleted with the lock.",
		Line: `^(w del \S+) leasehold_holders:\S+$`, To: "$1"},
	{Why: "Tokens and texts about holders are in a key of their own.", Line: `^[kw] .*leasehold_holders:.*`},
	{Why: "A reader holds once.", Line: `^w hincrby (\S+ \S+ 1)$`, To: "w hset $1"},
	{Why: "A ttl is set only if it grows. In Redisson, a shorter lease sets what is left.",
		Line: `^w pexpire \S+ ~\d+$`},
	{Why: "A reader's key and its ttl are set by one command. The ttl is that of the key that is left.",
		Line: `^w (pexpire \S+:rwlock_timeout:1 \d+|set \S+:rwlock_timeout:1 1( px ~?\d+)?)$`},
}

// ofGone are those of what is not held any more.
var ofGone = []redissonwire.Deviation{
	{Why: "An unlock of what is gone notifies nobody.", Of: gone, Line: `^(m|w publish) redisson_rwlock:.*`},
	{Why: "The key of a reader goes with a forced unlock.", Line: `^k {forcedreader}:a:t1:rwlock_timeout:1 .*`},
	{Why: "A forced unlock ends one hold after the other.",
		Line: `^w (hdel forced(reader|writer)|del {forcedreader}:).*`},
}

// ofExpiry are those of holders whose lease time ends: they give back what they have, and thereby notify.
var ofExpiry = []redissonwire.Deviation{
	{Why: "A program gives back what it has no longer.", Line: `^(m|w publish) .*`},
	{Why: "A program gives back what it has no longer.", Line: `^w h?del .*`},
}

// ofDowngrade are those of writers that also read.
var ofDowngrade = []redissonwire.Deviation{
	{Why: "The program counts what a writer reads, until it unlocks for writing.", Line: `\w+:t1: 1, (\w+:t1:write: 1)`,
		To: "$1"},
	{Why: "The step from writing to reading notifies waiters, as other unlocks for writing do.",
		Line: `^(m|w publish) redisson_rwlock:\S+ 1$`},
	{Why: "The step from writing to reading is one, and the reader has what is left of the lease.",
		Line: `^w hset (\S+) mode read( \S+ 1)?$`, To: "w hset $1 mode read"},
	{Why: "The step from writing to reading is one, and the reader has what is left of the lease.",
		Line: `^(k \S+:rwlock_timeout:1 string) ttl ~\d+`, To: "$1"},
	{Why: "The program counts what a writer reads, until it unlocks for writing.", Line: `^w hset \S+ \S+:t1 1$`},
	{Why: "The program counts what a writer reads, so that isLocked finds no reader.", Line: `^= (true|false)$`},
	{Why: "The program counts what a writer reads, until it unlocks for writing.",
		Line: `^w (pexpire \S+ \d+|del \S+:rwlock_timeout:1|hdel \S+ \S+:t1)$`},
}

// What was recorded of a real Redisson is played on locks: they return the same, write the same, publish the same, and
// leave the same keys, but for the deviations.
func TestLocksWriteWhatRedissonWrites(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]struct {
		file       string
		deviations []redissonwire.Deviation
		leftOut    []string
		played     []string // these parts alone
	}{
		"lock": {"lock", counts, []string{
			"lock and a lease", "re-entry", "re-entry with a lease into a lock that the watchdog renews", // below
			"a lease given with a re-entry does not end the renewals, which cut it",
			"delete",                // objects have no such method
			"a key of another type", // it is left alone
			"a lease that has ended is the next one of the same object, too", // a fault
			"a lease expires", // below
		}, nil},
		"lock expires": {"lock", append(slices.Clone(counts), ofExpiry...), nil, []string{"a lease expires"}},
		"lock again": {"lock", slices.Concat(counts, ofCounts, ofAgain), nil, []string{
			"lock and a lease", "re-entry", "re-entry with a lease into a lock that the watchdog renews",
		}},
		"fenced": {"fenced", slices.Concat(counts, ofTokens), []string{
			"a free lock", // reads the token of another one, which objects cannot
			"tryLockAndGetToken without a limit waits, unlike its name says", // a fault
			"lockAndGetToken ignores the lease it is given",                  // a fault
			"re-entry", "a lease expires", // below
			"delete", // objects have no such method
		}, nil},
		"fenced expires": {"fenced", slices.Concat(counts, ofTokens, ofExpiry), nil, []string{"a lease expires"}},
		"fenced again": {"fenced", slices.Concat(counts, ofTokens, ofCounts, ofAgain, []redissonwire.Deviation{
			{Why: "Locking again takes no new token.", Line: `^= [12]$`},
			{Why: "Locking again takes no new token.", Line: `^w incrby redisson_lock_token:.*`},
			{Why: "Locking again takes no new token.", Line: `^(k redisson_lock_token:\S+ string) \d$`, To: "$1"},
		}), nil, []string{"re-entry"}},
		"spin": {"spin", append(slices.Clone(counts), redissonwire.Deviation{
			Why: "An unlock notifies waiters of an RLock.", Line: `^(m|w publish) redisson_lock__channel:.*`,
		}), []string{"re-entry", "delete"}, nil},
		"fair": {"fair", slices.Concat(counts, ofFair), []string{
			"a free lock", "a lease expires", // below
			"unlock of a lock that is gone",  // is an error
			"a waiter is interrupted",        // it leaves the queue at once
			"a waiter whose time has passed", // it stays as long as the lock is held: it may be alive
			"delete",                         // objects have no such method
		}, nil},
		"fair expires": {"fair", slices.Concat(counts, ofFair[:5], ofExpiry), nil, []string{"a lease expires"}},
		"fair again":   {"fair", slices.Concat(counts, ofFair[:5], ofCounts, ofAgain), nil, []string{"a free lock"}},
		"readwrite": {"readwrite", slices.Concat(counts, ofReadWrite, ofGone), []string{
			"a reader again", "a writer again", "a writer becomes a reader", "a writer reads for a while", // below
			"a reader's lease expires", "a writer's lease expires", // below
			"a reader waits for a writer who becomes a reader", // it is let in
		}, nil},
		"readwrite expires": {"readwrite", slices.Concat(counts, ofReadWrite, ofExpiry, []redissonwire.Deviation{
			{Why: "A reader that has ended is not there any more.", Line: `\ba:t1: 1, (b:t1: 1, mode: read)`, To: "$1"},
			{Why: "An unlock of what has ended is an error.", Line: `^(= null|` + gone + `)$`},
		}), nil, []string{"a reader's lease expires", "a writer's lease expires"}},
		"readwrite again": {"readwrite", slices.Concat(counts, ofReadWrite, ofAgain, []redissonwire.Deviation{
			{Why: "A reader holds once.", Line: `^[kw] .*:rwlock_timeout:2.*`},
			{Why: "A reader holds once.", Line: `^w hset \S+ \S+:t1(:write)? 1$`},
		}), nil, []string{"a reader again", "a writer again"}},
		"downgrade": {"readwrite", slices.Concat(counts, ofReadWrite, ofDowngrade), nil, []string{
			"a writer becomes a reader", "a writer reads for a while",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) {
				s := redisserver.ForTest(t, redisserver.Config{})
				return newWireSide(t, s), []*redisserver.Server{s}
			}
			w := redissonwire.NewRewriter(recorded.deviations)
			w.Kinds += "=!"
			rewrite := w.Rewrite
			if name == "downgrade" {
				rewrite = func(lines []string) []string { return w.Rewrite(withoutReadsOfWriters(lines)) }
			}
			redissonwire.Play(t, "../testdata/wire/"+recorded.file+".txt", setup, redissonwire.Options{
				Parts: func(title string) bool {
					return !slices.Contains(recorded.leftOut, title) &&
						(recorded.played == nil || slices.Contains(recorded.played, title))
				},
				Rewrite: rewrite,
			})
			if !strings.HasSuffix(name, "expires") { // the server may be faster to end a lease than its holder
				w.CheckUsed(t)
			}
		})
	}
}

// withoutReadsOfWriters leaves out the key of a reader while it writes, which the program counts.
func withoutReadsOfWriters(lines []string) []string {
	writes := slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, "mode: write}") })
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return writes && strings.HasPrefix(line, "k ") && strings.Contains(line, ":rwlock_timeout:")
	})
}
