package redisson_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// deviation is a difference in what scripts write, on purpose.
type deviation struct {
	why  string
	line string // a pattern for parts of lines, of Redisson or of ours
	to   string // what is left of such a part to compare. If the line is then empty, it is left out.
}

// deviations are those of RLock, RFencedLock and RSpinLock. docs/redisson.md says what they are for.
var deviations = []deviation{
	{"No script is sent twice, so none notes that it has run.", `^[kw] .*redisson_unlock_latch:.*`, ""},
	{"The program counts how often it has locked, so an unlock does not count down before it deletes.",
		`^w hincrby \S+ \S+ -1$`, ""},
	{"Locks with tokens have fields of their own.", `^w hset \S+ leasehold:.*`, ""},
	{"Locks with tokens have fields of their own.", `, leasehold:holder: "[^"]*", leasehold:token: \d+`, ""},
	{"A client may take several tokens at once.", `^w incr (redisson_lock_token:\S+)$`, "w incrby $1 1"},
}

// ofSpin are those of RSpinLock alone.
var ofSpin = []deviation{
	{"An unlock notifies waiters of an RLock.", `^(m|w publish) redisson_lock__channel:.*`, ""},
}

// ofReadWrite are those of RReadWriteLock alone.
var ofReadWrite = []deviation{
	{"Tokens and texts about holders are in a key that is deleted with the lock.",
		`^(w del \S+) leasehold_holders:\S+$`, "$1"},
	{"Tokens and texts about holders are in a key of their own.", `^[kw] .*leasehold_holders:.*`, ""},
	{"It has tokens, as an RFencedLock has.", `^[kw] .*redisson_lock_token:.*`, ""},
	{"A reader holds once.", `^w hincrby (\S+ \S+ 1)$`, "w hset $1"},
	{"A ttl is set only if it grows. In Redisson, a shorter lease sets what is left.", `^w pexpire \S+ ~\d+$`, ""},
	{"A reader's key and its ttl are set by one command. The ttl is that of the key that is left.",
		`^w (pexpire \S+:rwlock_timeout:1 \d+|set \S+:rwlock_timeout:1 1( px \d+)?)$`, ""},
}

// rewriter changes lines to what is compared of them: what commands write, in any order within a script, what they
// publish, and the keys that they leave.
type rewriter struct {
	kinds      string // of lines that are compared, by their first characters
	deviations []deviation
	patterns   []*regexp.Regexp
	used       []bool
}

func newRewriter(deviations []deviation) *rewriter {
	w := &rewriter{kinds: "wmk", deviations: deviations, used: make([]bool, len(deviations))}
	for _, d := range deviations {
		w.patterns = append(w.patterns, regexp.MustCompile(d.line))
	}
	return w
}

func (w *rewriter) rewrite(lines []string) (left []string) {
	nothing := slices.Contains(lines, "= false")
	counts := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "w decr ") })
	tells := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "m ") })
	deletes := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "w del ") })
	for _, line := range lines {
		if !strings.ContainsAny(line[:1], w.kinds) {
			continue
		}
		// Of a lock or a latch that is free, or a latch that is at zero.
		if (nothing || counts && deletes && !tells) && strings.HasPrefix(line, "w de") {
			continue
		}
		for i, p := range w.patterns {
			changed := p.ReplaceAllString(line, w.deviations[i].to)
			w.used[i] = w.used[i] || changed != line
			line = changed
		}
		if line != "" {
			left = append(left, line)
		}
	}
	slices.Sort(left)
	return left
}

// checkUsed checks that there is a line for each deviation.
func (w *rewriter) checkUsed(t *testing.T) {
	t.Helper()
	for i, d := range w.deviations {
		if !w.used[i] && !t.Failed() {
			t.Errorf("there is no line %s", d.line)
		}
	}
}

// TestWritesOfLocksAreRedissons plays what was recorded of locks without a queue. The scripts write the same
// as Redisson's, publish the same, and leave the same keys, but for the deviations.
func TestWritesOfLocksAreRedissons(t *testing.T) {
	t.Parallel()
	for file, recorded := range map[string]struct {
		lock       redisson.LockType
		deviations []deviation
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
			"forceUnlock of a reader",                         // its timeout key goes at once
			"a writer", "a reader", "forceUnlock of a writer", // who unlocks what is gone notifies nobody
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			side := &wireSide{t: t, server: s, lock: recorded.lock,
				engines: map[string]*redisson.Engine{}, held: map[string]driver.Request{}, labels: map[string]string{},
				interrupts: map[string]context.CancelFunc{}}
			w := newRewriter(recorded.deviations)
			redissonwire.Play(t, "testdata/wire/"+file+".txt", side, redissonwire.Options{
				Parts:   func(title string) bool { return !slices.Contains(recorded.leftOut, title) },
				Rewrite: w.rewrite,
			}, s)
			if file != "lock" { // which has no tokens
				w.checkUsed(t)
			}
		})
	}
}
