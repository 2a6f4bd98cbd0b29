package redis

import (
	"crypto/sha1" // Redis names scripts by this hash
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Parts that several scripts share.
var (
	//go:embed scripts/lock.lua
	lockLua string
	//go:embed scripts/take_steps.lua
	takeStepsLua string
	//go:embed scripts/join_queue.lua
	joinQueueLua string
	//go:embed scripts/release_to_head.lua
	releaseToHeadLua string
	//go:embed scripts/pass_steps.lua
	passStepsLua string
	//go:embed scripts/tell_next.lua
	tellNextLua string
	//go:embed scripts/shared.lua
	sharedLua string
	//go:embed scripts/exclusive.lua
	exclusiveLua string
	//go:embed scripts/latch.lua
	latchLua string
	//go:embed scripts/leak_checks.lua
	leakChecksLua string
	//go:embed scripts/token_ttl.lua
	tokenTTLLua string
)

// script is one of the scripts that the engine runs.
type script int

const (
	scriptTakeFree script = iota
	scriptTake
	scriptTakeAll
	scriptReleaseFree
	scriptRelease
	scriptRenew
	scriptRenewShared
	scriptDowngrade
	scriptRaise
	scriptForce
	scriptStatus
	scriptLatchSet
	scriptLatchDown
	scriptLatchStatus
	scriptDataSet
	scriptDataRead
	scriptRights
	scriptRightsRead
	scriptGuard
	scriptGuardSlots
	scriptGuardSlotsMarked
	scriptGuardMoving
	scriptGuardHeldSince
	scriptGuardOpen
	scriptNodeList
	scriptBatch
	scriptPass
	scriptExchange
	scriptHandOver
	scriptRemovalWrite
	scriptRemovalsRead
	scriptLeakFind
	scriptLeakSweep
	scriptLeakLatch
	scriptCount
)

var (
	//go:embed scripts/take_free.lua
	takeFreeLua string
	//go:embed scripts/take.lua
	takeLua string
	//go:embed scripts/take_all.lua
	takeAllLua string
	//go:embed scripts/release_free.lua
	releaseFreeLua string
	//go:embed scripts/release.lua
	releaseLua string
	//go:embed scripts/renew.lua
	renewLua string
	//go:embed scripts/renew_shared.lua
	renewSharedLua string
	//go:embed scripts/downgrade.lua
	downgradeLua string
	//go:embed scripts/raise.lua
	raiseLua string
	//go:embed scripts/force.lua
	forceLua string
	//go:embed scripts/status.lua
	statusLua string
	//go:embed scripts/latch_set.lua
	latchSetLua string
	//go:embed scripts/latch_down.lua
	latchDownLua string
	//go:embed scripts/latch_status.lua
	latchStatusLua string
	//go:embed scripts/data_set.lua
	dataSetLua string
	//go:embed scripts/data_read.lua
	dataReadLua string
	//go:embed scripts/permitted.lua
	permittedLua string
	//go:embed scripts/rights.lua
	rightsLua string
	//go:embed scripts/rights_read.lua
	rightsReadLua string
	//go:embed scripts/guard.lua
	guardLua string
	//go:embed scripts/guard_slots.lua
	guardSlotsLua string
	//go:embed scripts/guard_slots_marked.lua
	guardSlotsMarkedLua string
	//go:embed scripts/guard_moving.lua
	guardMovingLua string
	//go:embed scripts/guard_held_since.lua
	guardHeldSinceLua string
	//go:embed scripts/guard_open.lua
	guardOpenLua string
	//go:embed scripts/node_list.lua
	nodeListLua string
	//go:embed scripts/check_marker.lua
	checkMarkerLua string
	//go:embed scripts/batch.lua
	batchLua string
	//go:embed scripts/pass.lua
	passLua string
	//go:embed scripts/exchange.lua
	exchangeLua string
	//go:embed scripts/hand_over.lua
	handOverLua string
	//go:embed scripts/removal_write.lua
	removalWriteLua string
	//go:embed scripts/removals_read.lua
	removalsReadLua string
	//go:embed scripts/leak_find.lua
	leakFindLua string
	//go:embed scripts/leak_sweep.lua
	leakSweepLua string
	//go:embed scripts/leak_latch.lua
	leakLatchLua string
)

var scriptSources = [scriptCount]*string{
	scriptTakeFree:         &takeFreeLua,
	scriptTake:             &takeLua,
	scriptTakeAll:          &takeAllLua,
	scriptReleaseFree:      &releaseFreeLua,
	scriptRelease:          &releaseLua,
	scriptRenew:            &renewLua,
	scriptRenewShared:      &renewSharedLua,
	scriptDowngrade:        &downgradeLua,
	scriptRaise:            &raiseLua,
	scriptForce:            &forceLua,
	scriptStatus:           &statusLua,
	scriptLatchSet:         &latchSetLua,
	scriptLatchDown:        &latchDownLua,
	scriptLatchStatus:      &latchStatusLua,
	scriptDataSet:          &dataSetLua,
	scriptDataRead:         &dataReadLua,
	scriptRights:           &rightsLua,
	scriptRightsRead:       &rightsReadLua,
	scriptGuard:            &guardLua,
	scriptGuardSlots:       &guardSlotsLua,
	scriptGuardSlotsMarked: &guardSlotsMarkedLua,
	scriptGuardMoving:      &guardMovingLua,
	scriptGuardHeldSince:   &guardHeldSinceLua,
	scriptGuardOpen:        &guardOpenLua,
	scriptNodeList:         &nodeListLua,
	scriptBatch:            &batchLua,
	scriptPass:             &passLua,
	scriptExchange:         &exchangeLua,
	scriptHandOver:         &handOverLua,
	scriptRemovalWrite:     &removalWriteLua,
	scriptRemovalsRead:     &removalsReadLua,
	scriptLeakFind:         &leakFindLua,
	scriptLeakSweep:        &leakSweepLua,
	scriptLeakLatch:        &leakLatchLua,
}

const (
	// firstLease is the first lease of a waiter that is granted a lock by another's release. If the waiter does not
	// renew it, because it is paused or gone, the next waiter is granted the lock when it has ended.
	firstLease = 2 * time.Second

	// pollerGoneAfter is how long after its last poll a polling waiter counts as gone.
	pollerGoneAfter = 3 * time.Second

	// queueKeptFor is how long a queue is kept after the last sign of life of a waiter.
	queueKeptFor = time.Minute

	// maxTokensPerGrant is more tokens than any waiter asks for. A record that asks for more was written by another
	// program.
	maxTokensPerGrant = 1 << 20

	// maxSteps is how many dead waiters, or ended leases, a script removes at most; it serves half as many waiters.
	// While it runs, the server does nothing else: to remove a waiter takes about 10 µs, to serve one 25 µs.
	maxSteps = 40
)

// scriptSet is the scripts for one server, and their hashes.
type scriptSet struct {
	text, sha        [scriptCount]string
	slotsHaveMarkers bool // it is a server of a Cluster, with the guard
	config           *config
}

// grantPolicy says whether a script may grant a lease.
type grantPolicy int

const (
	grantsNever        grantPolicy = iota
	grantsUnlessClosed             // its last argument is "1" while grants are closed: then it grants nothing
	grantsWhenSent                 // it does not heed that grants are closed, so it is not sent then
)

func (s script) grantPolicy() grantPolicy {
	switch s {
	case scriptTakeFree, scriptBatch, scriptPass, scriptExchange:
		return grantsWhenSent
	case scriptTake, scriptTakeAll, scriptRelease, scriptHandOver, scriptDowngrade, scriptForce, scriptLeakSweep:
		return grantsUnlessClosed
	}
	return grantsNever
}

// mayGrant reports whether a script can grant a lease.
func (s script) mayGrant() bool { return s.grantPolicy() != grantsNever }

// checksMarker reports whether a script checks the marker of the slot, which is its last key then. The script for
// batches does not: it is not used in a Cluster.
func (set *scriptSet) checksMarker(s script) bool {
	return set.slotsHaveMarkers && s.mayGrant() && s != scriptBatch
}

// isReadOnly reports whether a script can run without changing anything. A user without the right to write may run it
// with EVALSHA_RO.
func (s script) isReadOnly() bool {
	switch s {
	case scriptStatus, scriptLatchStatus, scriptDataRead, scriptRemovalsRead,
		scriptLeakFind, scriptLeakLatch, scriptRightsRead, scriptGuard:
		return true
	}
	return false
}

// newScriptSet makes the scripts for the server with an identity. The identity is part of the text, and so of the hash:
// a server that is mistaken for another answers NOSCRIPT. In a Cluster, scripts that grant check the marker of the slot
// first, as the slot may have moved away and back since the client read the marker.
func (c *config) newScriptSet(identity string, clustered bool) *scriptSet {
	constants := map[string]string{
		"PREFIX":               luaQuote(c.prefix),
		"IDENTITY":             luaQuote(identity),
		"OPEN_MARKER":          luaQuote(identity + " open "),
		"OPEN_MARKER_LENGTH":   formatInt(int64(len(identity + " open "))),
		"RETENTION":            formatInt(c.retention.Milliseconds()),
		"EXTENSION_PERIOD":     formatInt(c.retention.Microseconds() / 8),
		"FIRST_LEASE":          formatInt(firstLease.Milliseconds()),
		"POLLER_GONE_AFTER":    formatInt(pollerGoneAfter.Milliseconds()),
		"QUEUE_KEPT_FOR":       formatInt(queueKeptFor.Milliseconds()),
		"LONGEST_TTL":          formatInt(longestTTL.Milliseconds()),
		"BYTE_Q":               formatInt('q'),
		"BYTE_TILDE":           formatInt(int64(nodeProcess[0])),
		"MAX_TOKEN":            formatInt(driver.MaxToken),
		"MAX_TOKENS_PER_GRANT": formatInt(maxTokensPerGrant),
		"MAX_STEPS":            formatInt(maxSteps),
		"NOBODY":               luaQuote(nobody),
		"LINGERS":              formatInt(-answerLingers),
	}
	set := &scriptSet{slotsHaveMarkers: clustered && c.guard, config: c}
	for i, parts := range scriptTemplates() {
		var text strings.Builder
		text.WriteString("-- " + identity + "\n")
		if s := script(i); set.checksMarker(s) {
			constants["TAKES_CLOSED"] = strconv.FormatBool(s.grantPolicy() == grantsUnlessClosed)
			parts = append(slices.Clone(markerCheck()), parts...)
		}
		for _, part := range parts {
			if value, ok := constants[part]; ok {
				part = value
			}
			text.WriteString(part)
		}
		set.text[i] = text.String()
		sum := sha1.Sum([]byte(set.text[i])) // see the import
		set.sha[i] = hex.EncodeToString(sum[:])
	}
	return set
}

// scriptTemplates are the scripts, cut into parts. Some parts are constants, for which newScriptSet inserts values.
var scriptTemplates = sync.OnceValue(func() (all [scriptCount][]string) {
	for i, source := range scriptSources {
		all[i] = splitConstants(expand(*source))
	}
	return all
})

// markerCheck is the part that checks the marker.
var markerCheck = sync.OnceValue(func() []string { return splitConstants(withoutComments(checkMarkerLua)) })

// splitConstants cuts a text before and after each word of capital letters and underscores that begins with a letter.
// It runs even in a program that lives for a moment only, so it uses no regular expression.
func splitConstants(text string) (all []string) {
	// The next part begins at at, the current word at word. capitals is set while the word may be a constant.
	at, word, capitals := 0, 0, true
	for i := 0; i <= len(text); i++ {
		var c byte
		if i < len(text) {
			c = text[i]
		}
		switch {
		case 'A' <= c && c <= 'Z', c == '_' && i > word: // the word goes on
		case c == '_', '0' <= c && c <= '9', 'a' <= c && c <= 'z':
			capitals = false
		default:
			if capitals && word < i {
				all = append(all, text[at:word], text[word:i])
				at = i
			}
			word, capitals = i+1, true
		}
	}
	return append(all, text[at:])
}

// expand inserts the shared parts into a script. One of them contains others, so it does so twice.
func expand(source string) string { return withoutComments(includes.Replace(includes.Replace(source))) }

// withoutComments drops the lines that are only a comment: half of the scripts, which no server needs.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// includes inserts the shared parts.
var includes = strings.NewReplacer(
	"-- use lock.lua\n", lockLua,
	"-- use take_steps.lua\n", takeStepsLua,
	"-- use exclusive.lua\n", exclusiveLua,
	"-- use join_queue.lua\n", joinQueueLua,
	"-- use release_to_head.lua\n", releaseToHeadLua,
	"-- use pass_steps.lua\n", passStepsLua,
	"-- use tell_next.lua\n", tellNextLua,
	"-- use shared.lua\n", sharedLua,
	"-- use leak_checks.lua\n", leakChecksLua,
	"-- use token_ttl.lua\n", tokenTTLLua,
	"-- use latch.lua\n", latchLua,
	"-- use permitted.lua\n", permittedLua,
)

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// luaQuote returns any bytes as a Lua string.
func luaQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		fmt.Fprintf(&b, "\\%03d", s[i])
	}
	b.WriteByte('"')
	return b.String()
}
