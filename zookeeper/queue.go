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

// seat is what the name of a place says:
//
//	[k]MODE-WEIGHT-SIZE-ID-NONCE-SEQUENCE
//
// MODE is w for an exclusive lock, r for a shared one, and p for permits. ID stands for the owner, and NONCE makes the name one that never comes
// again. The server has added the sequence. A k says that the place is kept for a while for nobody.
type seat struct {
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

// modeOf is the mode that a request asks for.
func modeOf(r *driver.Request) byte {
	switch {
	case r.Kind == driver.Semaphore:
		return permits
	case r.Mode == driver.Shared:
		return shared
	}
	return exclusive
}

// stem is the name of a place before the server adds the sequence.
func stem(mode byte, weight, size int, id, nonce string) string {
	return fmt.Sprintf("%c-%d-%d-%s-%s-", mode, weight, size, id, nonce)
}

// parseSeat reads the name of a place, and reports false for one that is of another program.
func parseSeat(name string) (s seat, ok bool) {
	s.name = name
	rest := name
	if rest, s.kept = strings.CutPrefix(name, keptMark); rest == "" {
		return s, false
	}
	s.mode = rest[0]
	// The sequence is negative when it has run over.
	part := strings.SplitN(rest, "-", 6)
	if len(part) != 6 || len(part[0]) != 1 || s.mode != exclusive && s.mode != shared && s.mode != permits {
		return s, false
	}
	var err [3]error
	s.weight, err[0] = strconv.Atoi(part[1])
	s.size, err[1] = strconv.Atoi(part[2])
	s.id = part[3]
	var seq int64
	seq, err[2] = strconv.ParseInt(part[5], 10, 32)
	s.seq = int32(seq)
	return s, err == [3]error{} && s.weight > 0 && s.size > 0
}

// lineUp lines up those who hold and wait, in order. Sequences run over after 2^31 of them, so what counts is which of two is behind the other: the first one
// comes behind the widest gap. All that servers have counted lie close together. Where they do not, somebody has made up the number of a node, and
// different orders could be seen by different programs: then there is none.
func lineUp(names []string) ([]seat, error) {
	seats := make([]seat, 0, len(names))
	for _, name := range names {
		if s, ok := parseSeat(name); ok {
			seats = append(seats, s)
		}
	}
	slices.SortFunc(seats, func(a, b seat) int {
		return cmp.Or(cmp.Compare(uint32(a.seq), uint32(b.seq)), strings.Compare(a.name, b.name))
	})
	first, widest := 0, int64(1)<<32
	for i := range seats {
		gap := int64(uint32(seats[i].seq)) - int64(uint32(seats[(i+len(seats)-1)%len(seats)].seq))
		if i == 0 {
			gap += 1 << 32
		}
		if i == 0 || gap > widest {
			first, widest = i, gap
		}
	}
	if widest < 1<<31 {
		return nil, errMadeUp
	}
	return slices.Concat(seats[first:], seats[:first]), nil
}

// holding returns how many of a queue hold: those who may enter together, from its head. Nobody behind one who must wait enters, so that a
// stream of readers, or of small claims, never starves a writer or a large one. A writer at the head who is content to be a reader by now counts as one.
func holding(seats []seat, downgraded bool) int {
	used := 0
	for i, s := range seats {
		reader := s.mode == shared || i == 0 && downgraded
		switch {
		case s.mode == permits && s.weight <= s.size-used:
			used += s.weight
		case s.mode == permits:
			return i
		case reader:
		case i == 0:
			return 1
		default:
			return i
		}
	}
	return len(seats)
}

// verdict is how one of a queue stands.
type verdict struct {
	holds bool
	// ahead is the place that must go before it can be this one's turn; empty if any may.
	ahead string
	// second is the one that must go, too, and is next to that; empty if there is none.
	second string
	// alone says that nobody else must go.
	alone bool
	// doubt says that it holds if the one ahead, a writer, is content to be a reader.
	doubt bool
	// kept are the places before it that are kept for nobody, and end by themselves.
	kept []string
	// left is for how long the first of these is kept.
	left time.Duration
	// behind says that others are behind it.
	behind bool
	// before is how many wait before it, if it waits.
	before int
}

// judge says how the one with that index stands.
func judge(seats []seat, at int) verdict {
	me := seats[at]
	inside := holding(seats, false)
	v := verdict{holds: at < inside, behind: at < len(seats)-1, before: max(at-inside, 0)}
	if v.holds {
		return v
	}
	blockers := 0
	for _, s := range seats[:at] {
		if me.mode == shared && s.mode == shared {
			continue
		}
		blockers++
		v.second, v.ahead = v.ahead, s.name
		if s.kept {
			v.kept = append(v.kept, s.name)
		}
	}
	v.alone = blockers == 1 && len(v.kept) == 0 && me.mode != permits
	v.doubt = v.alone && me.mode == shared && seats[0].name == v.ahead
	if me.mode == permits {
		v.ahead, v.second = "", ""
	}
	return v
}

// find returns the index of the place with that name, or -1.
func find(seats []seat, name string) int {
	return slices.IndexFunc(seats, func(s seat) bool { return s.name == name })
}
