package redis

import (
	"crypto/sha1" // it is how Redis names scripts
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

// Parts that several scripts have in common.
var (
	//go:embed scripts/entry.lua
	entryLua string
	//go:embed scripts/taking.lua
	takingLua string
	//go:embed scripts/exclusive.lua
	exclusiveLua string
	//go:embed scripts/latching.lua
	latchingLua string
	//go:embed scripts/leaking.lua
	leakingLua string
	//go:embed scripts/lasting.lua
	lastingLua string
)

// script is one of the scripts that the engine runs.
type script int

const (
	takeFree script = iota
	take
	takeAll
	releaseFree
	release
	renew
	renewShared
	downgrade
	raise
	force
	look
	latchSet
	latchDown
	latchLook
	rights
	rightsToLook
	guard
	guardMaster
	guardMarked
	guardMoving
	guardSince
	guardOpen
	listNodes
	together
	writeRecord
	readRecords
	findLeak
	sweepLeak
	leakLatch
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
	//go:embed scripts/look.lua
	lookLua string
	//go:embed scripts/latch_set.lua
	latchSetLua string
	//go:embed scripts/latch_down.lua
	latchDownLua string
	//go:embed scripts/latch_look.lua
	latchLookLua string
	//go:embed scripts/allowed.lua
	allowedLua string
	//go:embed scripts/rights.lua
	rightsLua string
	//go:embed scripts/rights_look.lua
	rightsToLookLua string
	//go:embed scripts/guard.lua
	guardLua string
	//go:embed scripts/guard_master.lua
	guardMasterLua string
	//go:embed scripts/guard_marked.lua
	guardMarkedLua string
	//go:embed scripts/guard_moving.lua
	guardMovingLua string
	//go:embed scripts/guard_since.lua
	guardSinceLua string
	//go:embed scripts/guard_open.lua
	guardOpenLua string
	//go:embed scripts/nodes.lua
	nodesLua string
	//go:embed scripts/guarded.lua
	guardedLua string
	//go:embed scripts/together.lua
	togetherLua string
	//go:embed scripts/record.lua
	recordLua string
	//go:embed scripts/records.lua
	recordsLua string
	//go:embed scripts/leak.lua
	leakLua string
	//go:embed scripts/sweep.lua
	sweepLua string
	//go:embed scripts/leak_latch.lua
	leakLatchLua string
)

var sources = [scriptCount]*string{
	takeFree: &takeFreeLua, take: &takeLua, takeAll: &takeAllLua, releaseFree: &releaseFreeLua, release: &releaseLua, renew: &renewLua, renewShared: &renewSharedLua, downgrade: &downgradeLua, raise: &raiseLua, force: &forceLua,
	look: &lookLua, latchSet: &latchSetLua, latchDown: &latchDownLua, latchLook: &latchLookLua, rights: &rightsLua, rightsToLook: &rightsToLookLua,
	guard: &guardLua, guardMaster: &guardMasterLua, guardMarked: &guardMarkedLua, guardMoving: &guardMovingLua, guardSince: &guardSinceLua, guardOpen: &guardOpenLua, listNodes: &nodesLua, together: &togetherLua,
	writeRecord: &recordLua, readRecords: &recordsLua, findLeak: &leakLua, sweepLeak: &sweepLua, leakLatch: &leakLatchLua,
}

const (
	// firstLease is how long the lease of a waiter lasts that has been granted the lock by another's release. If
	// the waiter does not renew it, because it was paused or is gone, the next one gets its turn after that.
	firstLease = 2 * time.Second

	// gone is after how long a waiter that comes and looks counts as gone.
	gone = 3 * time.Second

	// linger is how long a queue is kept of which no waiter has been heard.
	linger = time.Minute

	// mostTokens is more than any waiter asks for: one who does was written by another program.
	mostTokens = 1 << 20
)

// program is the scripts as they are loaded into one server, with the hashes under which it knows them.
type program struct {
	text, sha [scriptCount]string
	guarded   bool // those that grant want the marker of the slot as their last key
	config    *config
}

// grants reports whether a script may grant a lease on a server of a Cluster.
func (s script) grants() bool { return s == takeFree || s.flagged() }

// flagged reports whether the last argument of a script says that it may not.
func (s script) flagged() bool {
	switch s {
	case take, takeAll, release, downgrade, force, sweepLeak:
		return true
	}
	return false
}

// looks reports whether a script can be told to only look. A user who may not write is let to run it then (EVALSHA_RO).
func (s script) looks() bool {
	switch s {
	case look, latchLook, readRecords, findLeak, leakLatch, rightsToLook, guard:
		return true
	}
	return false
}

// assemble makes the program for the server with this identity. The identity is part of the text, and so of the hash: a
// server answers NOSCRIPT to those who take it for another one. In a Cluster those that grant look at the marker of the slot first: it may have
// been elsewhere since the client has asked.
func (c *config) assemble(identity string, clustered bool) *program {
	constants := map[string]string{
		"PREFIX":    quote(c.prefix),
		"IDENTITY":  quote(identity),
		"OPEN":      quote(identity + " open "),
		"LENGTH":    decimal(int64(len(identity + " open "))),
		"RETENTION": decimal(c.retention.Milliseconds()),
		"PERIOD":    decimal(c.retention.Microseconds() / 8),
		"FIRST":     decimal(firstLease.Milliseconds()),
		"GONE":      decimal(gone.Milliseconds()),
		"LINGER":    decimal(linger.Milliseconds()),
		"LONGEST":   decimal(longestTTL.Milliseconds()),
		"MAX":       decimal(driver.MaxToken),
		"TOKENS":    decimal(mostTokens),
	}
	p := &program{guarded: clustered && c.guard, config: c}
	for i, parts := range templates() {
		var text strings.Builder
		text.WriteString("-- " + identity + "\n")
		if s := script(i); p.guarded && s.grants() {
			constants["FLAGGED"] = strconv.FormatBool(s.flagged())
			parts = append(slices.Clone(looking()), parts...)
		}
		for _, part := range parts {
			if value, ok := constants[part]; ok {
				part = value
			}
			text.WriteString(part)
		}
		p.text[i] = text.String()
		sum := sha1.Sum([]byte(p.text[i])) // see above
		p.sha[i] = hex.EncodeToString(sum[:])
	}
	return p
}

// templates are the scripts in parts, some of which are constants for which assemble puts values.
var templates = sync.OnceValue(func() (all [scriptCount][]string) {
	for i, source := range sources {
		all[i] = parts(whole(*source))
	}
	return all
})

// looking is the part that looks at the marker.
var looking = sync.OnceValue(func() []string { return parts(guardedLua) })

// parts cuts a text before and behind each word of capital letters. A program that runs for a moment does that, too, so there is no regular expression.
func parts(text string) (all []string) {
	at, word, capitals := 0, 0, true // the next part and the word that we are in begin there; whether all letters of the word are capital ones
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] == '_' || '0' <= text[i] && text[i] <= '9' || 'a' <= text[i] && text[i] <= 'z') {
			capitals = false
		} else if i == len(text) || text[i] < 'A' || text[i] > 'Z' {
			if capitals && word < i {
				all = append(all, text[at:word], text[word:i])
				at = i
			}
			word, capitals = i+1, true
		}
	}
	return append(all, text[at:])
}

// whole is a script with the common parts in it, of which one has another.
func whole(source string) string { return common.Replace(common.Replace(source)) }

// common puts them in.
var common = strings.NewReplacer("-- use entry.lua\n", entryLua, "-- use taking.lua\n", takingLua, "-- use exclusive.lua\n", exclusiveLua,
	"-- use leaking.lua\n", leakingLua, "-- use lasting.lua\n", lastingLua, "-- use latching.lua\n", latchingLua, "-- use allowed.lua\n", allowedLua)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// quote makes a Lua string of any bytes.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		fmt.Fprintf(&b, "\\%03d", s[i])
	}
	b.WriteByte('"')
	return b.String()
}
