package objects_test

import (
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
)

// deviations are those of locks that package redisson does not know: of several, again, and with a watchdog.
var deviations = []redissonwire.Deviation{
	{Why: "No script is sent twice, so none notes that it has run.", Line: `^[kw] .*redisson_unlock_latch:.*`},
	{Why: "The program counts how often it has locked.", Line: `^w hincrby \S+ \S+ (-1|1)$`},
	{Why: "The program counts how often it has locked.", Line: `(\S+:t\d(:write)?): \d+`, To: "$1"},
}

// ofPrefixes are more of those.
var ofPrefixes = []redissonwire.Deviation{
	{Why: "Locks with tokens have fields of their own.", Line: `^w hset \S+ leasehold:.*`},
	{Why: "Locks with tokens have fields of their own.",
		Line: `(, )?leasehold:holder: "[^"]*", leasehold:token: \d+(, )?`},
	{Why: "Fair and read-write locks have tokens, too, in a counter.", Line: `^[kw] .*redisson_lock_token:.*`},
	{Why: "Some keys are ours.", Line: `^(w del \S+) leasehold_holders:\S+$`, To: "$1"},
	{Why: "Some keys are ours.", Line: `^[kw] .*leasehold_(holders|waiters|permits|permits_set|latch):.*`},
	{Why: "A free fair lock has no queue.", Line: `^w (lpop|zrem|lrem) .*redisson_lock_(queue|timeout):.*`},
	{Why: "A reader, and a holder of a fair lock, holds once.", Line: `^w hset (\S+ \S+ 1)$`},
	{Why: "A ttl is set only if it grows.", Line: `^w pexpire \S+ ~?\d+$`},
	{Why: "A reader's key and its ttl are set by one command.", Line: `^w set \S+:rwlock_timeout:1 1( px \d+)?$`},
	{Why: "What has ended is removed by its end.", Line: `^w zremrangebyscore .*`},
	{Why: "Permits without a lease have one.", Line: `\b922337203685477\b|\bnow\+30000\b`, To: "END"},
}

// ofWatchdogs are more of those.
var ofWatchdogs = append(slices.Clone(ofPrefixes[:6]),
	redissonwire.Deviation{Why: "A holder of a fair lock holds once.", Line: `^w hset (\S+ \S+ 1)$`},
	redissonwire.Deviation{Why: "An unlock of an RSpinLock notifies.", Line: `^(m|w publish) \S+:{spin} 0$`})

// ofMulti are more of those.
var ofMulti = redissonwire.Deviation{Why: "The lease is not set once more when all are locked.", Line: `^w pexpire .*`}

// What was recorded of a real Redisson is played on objects: locks of several locks, names with a prefix, and what the
// watchdog does. They write the same, publish the same, and leave the same keys, but for the deviations.
func TestObjectsWriteWhatRedissonWrites(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		deviations []redissonwire.Deviation
		leftOut    []string
	}{
		"multi":  {append(slices.Clone(deviations), ofMulti), []string{"a multi-lock in one key"}}, // a newer object
		"prefix": {slices.Concat(deviations, ofPrefixes), nil},
		"watchdog": {slices.Concat(deviations, ofWatchdogs), []string{
			"readers are renewed", // each by itself
			"two locks at once, a lock that is lost, and a re-entry", // which is a renewal in Redisson
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			setup := func() (redissonwire.Side, []*redisserver.Server) {
				s := redisserver.ForTest(t, redisserver.Config{})
				return newWireSide(t, s), []*redisserver.Server{s}
			}
			w := redissonwire.NewRewriter(recorded.deviations)
			redissonwire.Play(t, "../testdata/wire/"+file+".txt", setup, redissonwire.Options{
				Parts:   func(title string) bool { return !slices.Contains(recorded.leftOut, title) },
				Rewrite: w.Rewrite,
			})
			w.CheckUsed(t)
		})
	}
}
