package redis

import (
	"iter"
	"math"
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
	aloud  bool // it asks waiters whether they hear, which a script that only looks may not
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
		return glance{script: latchLook, names: n, keys: n.counted()}
	}
	return glance{script: look, names: n, keys: n.all(), args: []any{partCount, p.holders, p.waiters}}
}

// readStatus reads what such a script has answered to a look that began at a part, and says what of the name it has not told.
func readStatus(k driver.Key, p part, answer any, err error) (st driver.Status, rest part, _ error) {
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
	return st, seen.rest(p), nil
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
		st.Holders = append(st.Holders, driver.Holder{Weight: 1, Holder: otherKind, TTL: leftOf(s.left), Age: -1})
	case s.held:
		h := s.holder(s.detail)
		h.TTL = leftOf(s.left)
		st.Holders = append(st.Holders, h)
	}
	for end, record := range records(s.holders) {
		weight, detail, _ := strings.Cut(record, " ")
		h := s.holder(detail)
		if ms, err := strconv.ParseInt(end, 10, 64); err == nil {
			h.TTL = span(max(ms-s.now, 0))
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

// rest is what is behind the last holder and the last waiter, if there may be more behind what was looked at. Each look goes on further than the one before, or
// it is the last: what stands there may have been written by another program.
func (s *sight) rest(p part) part {
	behind := func(list []any, from string) string {
		if len(list) < 2*partCount {
			return notAtAll
		}
		last, _ := list[len(list)-2].(string)
		now, err := strconv.ParseFloat(last, 64)
		if before, _ := strconv.ParseFloat(from, 64); err != nil || !(now > before || from == fromStart) || math.IsInf(now, 0) {
			return notAtAll
		}
		return last
	}
	return part{behind(s.holders, p.holders), behind(s.waiters, p.waiters)}
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
		if h.Token, _ = strconv.ParseUint(fields[0], 10, 64); h.Token > driver.MaxToken {
			h.Token = 0 // it is none
		}
		if granted, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
			h.Age = since(granted, s.now*1000, time.Microsecond)
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
		w.Age = since(joined, s.now, time.Millisecond)
	}
	return w
}

// leftOf is what is left of a lease: a key without an end is a leak.
func leftOf(ms int64) time.Duration {
	if ms < 0 {
		return driver.NoTTL
	}
	return span(ms)
}

// since is how long ago something was, or negative if it says so of a time that there is not.
func since(then, now int64, unit time.Duration) time.Duration {
	if then < 0 || now < 0 {
		return -1
	}
	return time.Duration(min(max(now-then, 0), int64(math.MaxInt64/unit))) * unit
}

// span is so many milliseconds, or the longest time there is: a key may be told to last for longer.
func span(ms int64) time.Duration {
	const most = math.MaxInt64 / 2 / int64(time.Millisecond) // something may be added to it
	return time.Duration(max(min(ms, most), -most)) * time.Millisecond
}
