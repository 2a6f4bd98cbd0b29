package zookeeper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// queueEntry is the name of an entry, decoded:
//
//	[k]MODE-WEIGHT-SIZE-ID-NONCE-SEQUENCE
//
// MODE is w for an exclusive lock, r for a shared one, and p for permits. ID stands for the owner, and NONCE makes the
// name unique for ever. The server has appended SEQUENCE. A leading k marks a lock that is kept after its release.
type queueEntry struct {
	name         string
	kept         bool
	mode         byte
	weight, size int
	id           string
	seq          int32
}

const (
	exclusive, shared, permits = 'w', 'r', 'p'
	keptMark                   = "k"
)

// nodeMode returns the mode that a request asks for.
func nodeMode(r *driver.Request) byte {
	switch {
	case r.Kind == driver.Semaphore:
		return permits
	case r.Mode == driver.Shared:
		return shared
	}
	return exclusive
}

// namePrefix returns the name of an entry before the server appends the sequence.
func namePrefix(mode byte, weight, size int, id, nonce string) string {
	return fmt.Sprintf("%c-%d-%d-%s-%s-", mode, weight, size, id, nonce)
}

// parseEntry decodes the name of an entry. It reports false for a node of another program.
func parseEntry(name string) (entry queueEntry, ok bool) {
	entry.name = name
	rest := name
	if rest, entry.kept = strings.CutPrefix(name, keptMark); rest == "" {
		return entry, false
	}
	entry.mode = rest[0]
	// After an overflow the sequence is negative.
	part := strings.SplitN(rest, "-", 6)
	if len(part) != 6 || len(part[0]) != 1 || entry.mode != exclusive && entry.mode != shared && entry.mode != permits {
		return entry, false
	}
	var err [3]error
	entry.weight, err[0] = strconv.Atoi(part[1])
	entry.size, err[1] = strconv.Atoi(part[2])
	entry.id = part[3]
	var seq int64
	seq, err[2] = strconv.ParseInt(part[5], 10, 32)
	entry.seq = int32(seq)
	return entry, err == [3]error{} && entry.weight > 0 && entry.size > 0
}

// sortQueue decodes and sorts the entries of a name. Sequences overflow after 2^31 entries, so only their distances
// count: the first entry is the one behind the widest gap. All sequences that servers have counted lie close together.
// If these do not, somebody has created a node with a number of its own. Programs could then see different orders, so
// there is no order, and it returns errForgedSequence.
func sortQueue(names []string) ([]queueEntry, error) {
	entries := make([]queueEntry, 0, len(names))
	for _, name := range names {
		if entry, ok := parseEntry(name); ok {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b queueEntry) int {
		return cmp.Or(cmp.Compare(uint32(a.seq), uint32(b.seq)), strings.Compare(a.name, b.name))
	})
	first, widest := 0, int64(1)<<32
	for i := range entries {
		gap := int64(uint32(entries[i].seq)) - int64(uint32(entries[(i+len(entries)-1)%len(entries)].seq))
		if i == 0 {
			gap += 1 << 32
		}
		if i == 0 || gap > widest {
			first, widest = i, gap
		}
	}
	if widest < 1<<31 {
		return nil, errForgedSequence
	}
	return slices.Concat(entries[first:], entries[:first]), nil
}

// holderCount returns how many of a queue hold: those who can hold together, from the head. Nobody is admitted past an
// entry that has to wait, so that a stream of readers, or of small requests, never starves a writer or a large request.
// A writer at the head that has downgraded counts as a reader.
func holderCount(entries []queueEntry, downgraded bool) int {
	used := 0
	for i, entry := range entries {
		reader := entry.mode == shared || i == 0 && downgraded
		switch {
		case entry.mode == permits && entry.weight <= entry.size-used:
			used += entry.weight
		case entry.mode == permits:
			return i
		case reader:
		case i == 0:
			return 1
		default:
			return i
		}
	}
	return len(entries)
}

// position is how an entry of a queue stands.
type position struct {
	holds bool
	// blocker is the entry that must go first; empty if any may.
	blocker string
	// secondBlocker is the entry before the blocker that must go as well; empty if there is none.
	secondBlocker string
	// soleBlocker is set if no other entry must go.
	soleBlocker bool
	// holdsIfDowngraded is set if the entry holds in case the blocker, a writer, has downgraded.
	holdsIfDowngraded bool
	// keptBefore are the kept locks before it, which end by themselves.
	keptBefore []string
	// keptFor is how long the first of them to end is kept.
	keptFor time.Duration
	// followed is set if there are entries behind it.
	followed bool
	// waitersBefore is the number of waiters before it, if it waits.
	waitersBefore int
}

// positionOf returns how the entry with an index stands, as far as names tell.
func positionOf(entries []queueEntry, at int) position {
	me := entries[at]
	inside := holderCount(entries, false)
	pos := position{holds: at < inside, followed: at < len(entries)-1, waitersBefore: max(at-inside, 0)}
	if pos.holds {
		return pos
	}
	blockers := 0
	for _, entry := range entries[:at] {
		if me.mode == shared && entry.mode == shared {
			continue
		}
		blockers++
		pos.secondBlocker, pos.blocker = pos.blocker, entry.name
		if entry.kept {
			pos.keptBefore = append(pos.keptBefore, entry.name)
		}
	}
	pos.soleBlocker = blockers == 1 && len(pos.keptBefore) == 0 && me.mode != permits
	pos.holdsIfDowngraded = pos.soleBlocker && me.mode == shared && entries[0].name == pos.blocker
	if me.mode == permits {
		pos.blocker, pos.secondBlocker = "", ""
	}
	return pos
}

// indexOf returns the index of the entry with that name, or -1.
func indexOf(entries []queueEntry, name string) int {
	return slices.IndexFunc(entries, func(entry queueEntry) bool { return entry.name == name })
}
