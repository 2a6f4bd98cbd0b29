package redis

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// glance is a script that looks at a name.
type glance struct {
	script script
	names  names
	keys   []string
	args   []any
}

// part is where a look at a name begins: behind the end of a shared lease, and behind a place in the queue. What is not looked at is notAtAll.
type part struct{ holders, waiters string }

const (
	fromStart = "0"
	notAtAll  = "-"
	// partCount is how many holders and waiters are looked at in one go, about: it keeps a server from doing anything else for less than half a millisecond.
	partCount = 100
)

// firstPart is what is looked at first.
func firstPart(queue bool) part {
	if queue {
		return part{fromStart, fromStart}
	}
	return part{fromStart, notAtAll}
}

func (e *Engine) lookAt(k driver.Key, p part) glance {
	n := e.names(k)
	if k.Kind == driver.Latch {
		return glance{latchLook, n, n.counted(), nil}
	}
	return glance{look, n, n.all(), []any{partCount, p.holders, p.waiters}}
}

// readStatus reads what such a script has answered, and says what of the name it has not told.
func readStatus(k driver.Key, answer any, err error) (st driver.Status, rest part, _ error) {
	st.Key = k
	rest = part{notAtAll, notAtAll}
	if k.Kind == driver.Latch {
		state, err := readLatch(answer, err)
		if err == nil {
			st.Latch = &state
		} else if driver.IsNo(err) {
			err = nil
		}
		return st, rest, err
	}
	if err != nil {
		return st, rest, err
	}
	seen, ok := readLook(answer)
	if !ok {
		return st, rest, errReply
	}
	seen.fill(&st)
	return st, seen.rest(), nil
}

// isSomething reports whether anything is known of a name.
func isSomething(st driver.Status) bool {
	return len(st.Holders) > 0 || st.Waiting > 0 || st.Latch != nil
}

// sight is the answer of the script that looks at a name.
type sight struct {
	now, left int64
	detail    string
	held      bool
	foreign   bool
	holders   []any
	waiting   int64
	waiters   []any
}

func readLook(answer any) (s sight, ok bool) {
	items, _ := answer.([]any)
	if len(items) != 7 {
		return s, false
	}
	var isNow, isLeft, isWaiting bool
	s.now, isNow = items[0].(int64)
	s.left, isLeft = items[1].(int64)
	s.detail, s.held = items[2].(string)
	s.foreign = items[3] == int64(1)
	s.holders, _ = items[4].([]any)
	s.waiting, isWaiting = items[5].(int64)
	s.waiters, _ = items[6].([]any)
	return s, isNow && isLeft && isWaiting
}

// otherKind is what is told of a holder that is no client of ours.
const otherKind = "a client of another kind"

// fill puts into a status what has been seen.
func (s *sight) fill(st *driver.Status) {
	switch {
	case s.foreign:
		st.Holders = append(st.Holders, driver.Holder{Weight: 1, Holder: otherKind, TTL: ttl(s.left), Age: -1})
	case s.held:
		h := s.holder(s.detail)
		h.TTL = ttl(s.left)
		st.Holders = append(st.Holders, h)
	}
	for end, record := range records(s.holders) {
		weight, detail, _ := strings.Cut(record, " ")
		h := s.holder(detail)
		if ms, err := strconv.ParseInt(end, 10, 64); err == nil {
			h.TTL = time.Duration(ms-s.now) * time.Millisecond
		}
		h.Weight, _ = strconv.Atoi(weight)
		if st.Kind == driver.Lock {
			h.Mode = driver.Shared
		}
		st.Holders = append(st.Holders, h)
	}
	st.Waiting = int(s.waiting)
	for _, record := range records(s.waiters) {
		st.Queue = append(st.Queue, s.waiter(record, st.Kind))
	}
}

// records are pairs of a score and a record.
func records(list []any) iter.Seq2[string, string] {
	return func(yield func(score, record string) bool) {
		for i := 0; i+1 < len(list); i += 2 {
			score, _ := list[i].(string)
			record, _ := list[i+1].(string)
			if !yield(score, record) {
				return
			}
		}
	}
}

// rest is what is behind the last holder and the last waiter, if there may be more.
func (s *sight) rest() part {
	behind := func(list []any) string {
		if len(list) < 2*partCount {
			return notAtAll
		}
		last, _ := list[len(list)-2].(string)
		return last
	}
	return part{behind(s.holders), behind(s.waiters)}
}

// add puts into a status what another part of it has shown. A holder that has renewed in between is seen twice, as its lease ends later now.
func add(st *driver.Status, more driver.Status) {
	at := map[uint64]int{}
	for i, h := range st.Holders {
		at[h.Token] = i
	}
	for _, h := range more.Holders {
		if i, known := at[h.Token]; known && h.Token != 0 {
			st.Holders[i] = h
			continue
		}
		st.Holders = append(st.Holders, h)
	}
	st.Queue = append(st.Queue, more.Queue...)
}

// holder reads "<token> <tokens> <granted, us>\n<text>".
func (s *sight) holder(detail string) driver.Holder {
	numbers, text, _ := strings.Cut(detail, "\n")
	fields := strings.Fields(numbers)
	h := driver.Holder{Weight: 1, Holder: text, Age: -1}
	if len(fields) == 3 {
		h.Token, _ = strconv.ParseUint(fields[0], 10, 64)
		if granted, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
			h.Age = max(time.Duration(s.now*1000-granted)*time.Microsecond, 0)
		}
	}
	return h
}

// waiter reads the record of a waiter.
func (s *sight) waiter(record string, kind driver.Kind) driver.Waiter {
	first, text, _ := strings.Cut(record, "\n")
	fields := strings.Fields(first)
	w := driver.Waiter{Weight: 1, Holder: text, Age: -1}
	if len(fields) < 6 {
		return w
	}
	if fields[0] == "s" && kind == driver.Lock {
		w.Mode = driver.Shared
	}
	w.Weight, _ = strconv.Atoi(fields[1])
	if joined, err := strconv.ParseInt(fields[5], 10, 64); err == nil {
		w.Age = max(time.Duration(s.now-joined)*time.Millisecond, 0)
	}
	return w
}

// ttl is what is left of a lease: a key without an end is a leak.
func ttl(ms int64) time.Duration {
	if ms < 0 {
		return driver.NoTTL
	}
	return time.Duration(ms) * time.Millisecond
}
