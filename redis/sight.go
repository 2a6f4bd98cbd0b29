package redis

import (
	"cmp"
	"slices"
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

func (e *Engine) lookAt(k driver.Key, queue bool) glance {
	n := e.names(k)
	switch {
	case k.Kind == driver.Latch:
		return glance{latchLook, n, n.counted(), nil}
	case queue:
		return glance{look, n, n.all(), []any{1}}
	}
	return glance{look, n, n.all(), []any{0}}
}

// readStatus reads what such a script has answered. It is not ok if nothing is known.
func readStatus(k driver.Key, answer any, err error) (st driver.Status, ok bool, _ error) {
	st.Key = k
	if k.Kind == driver.Latch {
		state, err := readLatch(answer, err)
		if driver.IsNo(err) {
			return st, false, nil
		}
		st.Latch = &state
		return st, err == nil, err
	}
	if err != nil {
		return st, false, err
	}
	seen, ok := readLook(answer)
	if !ok {
		return st, false, errReply
	}
	seen.fill(&st)
	return st, len(st.Holders) > 0 || st.Waiting > 0, nil
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

// fill puts into a status what has been seen.
func (s *sight) fill(st *driver.Status) {
	switch {
	case s.foreign:
		st.Holders = append(st.Holders, driver.Holder{Weight: 1, Holder: "a client of another kind", TTL: ttl(s.left), Age: -1})
	case s.held:
		h := s.holder(s.detail)
		h.TTL = ttl(s.left)
		st.Holders = append(st.Holders, h)
	}
	for i := 0; i+1 < len(s.holders); i += 2 {
		left, _ := s.holders[i].(int64)
		record, _ := s.holders[i+1].(string)
		weight, detail, _ := strings.Cut(record, " ")
		h := s.holder(detail)
		h.TTL = time.Duration(left) * time.Millisecond
		h.Weight, _ = strconv.Atoi(weight)
		if st.Kind == driver.Lock {
			h.Mode = driver.Shared
		}
		st.Holders = append(st.Holders, h)
	}
	slices.SortFunc(st.Holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	st.Waiting = int(s.waiting)
	for _, item := range s.waiters {
		record, _ := item.(string)
		st.Queue = append(st.Queue, s.waiter(record, st.Kind))
	}
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
