package redis

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// readCall is a call of a script that reads what is stored of a name.
type readCall struct {
	script     script
	names      redisKeys
	keys       []string
	args       []any
	mayPublish bool // it asks waiters whether they listen, which read-only scripts may not
}

// statusPart is where reading a name continues: after the end of a shared lease, and after a score in the queue. What
// is not read is noPart.
type statusPart struct{ holders, waiters string }

const (
	fromStart = "0"
	noPart    = "-"
	// partSize is roughly how many holders and waiters are read at once: the server does nothing else meanwhile, for
	// less than half a millisecond.
	partSize = 100
)

// firstPart is what is read first.
func firstPart(queue bool) statusPart {
	if queue {
		return statusPart{fromStart, fromStart}
	}
	return statusPart{fromStart, noPart}
}

func (e *Engine) statusCall(k driver.Key, p statusPart) readCall {
	n := e.names(k)
	if k.Kind == driver.Latch {
		return readCall{script: scriptLatchStatus, names: n, keys: n.valueAndToken()}
	}
	return readCall{script: scriptStatus, names: n, keys: n.allKeys(), args: []any{partSize, p.holders, p.waiters}}
}

// readStatus reads the answer to a call for one part of a name, and returns which part is left.
func readStatus(k driver.Key, p statusPart, answer any, err error) (st driver.Status, rest statusPart, _ error) {
	st.Key = k
	rest = statusPart{noPart, noPart}
	if k.Kind == driver.Latch {
		state, err := replies.Latch(answer, err)
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
	seen, ok := readStatusReply(answer)
	if !ok {
		return st, rest, errReply
	}
	seen.fillStatus(&st)
	return st, seen.nextPart(p), nil
}

// hasAnything reports whether anything is known of a name.
func hasAnything(st driver.Status) bool {
	return len(st.Holders) > 0 || st.Waiting > 0 || st.Latch != nil
}

// statusReply is the answer of status.lua.
type statusReply struct {
	now, left int64
	detail    string
	held      bool
	foreign   bool
	holders   []any
	waiting   int64
	waiters   []any
}

func readStatusReply(answer any) (found statusReply, ok bool) {
	items, _ := answer.([]any)
	if len(items) != 7 {
		return found, false
	}
	var isNow, isLeft, isWaiting bool
	found.now, isNow = items[0].(int64)
	found.left, isLeft = items[1].(int64)
	found.detail, found.held = items[2].(string)
	found.foreign = items[3] == int64(1)
	found.holders, _ = items[4].([]any)
	found.waiting, isWaiting = items[5].(int64)
	found.waiters, _ = items[6].([]any)
	return found, isNow && isLeft && isWaiting
}

// otherKind is the holder text of a holder that is not one of our clients.
const otherKind = "a client of another kind"

// fillStatus adds the reply to a status.
func (found *statusReply) fillStatus(st *driver.Status) {
	switch {
	case found.foreign:
		h := driver.Holder{Weight: 1, Holder: otherKind, TTL: reply.TTL(found.left), Age: -1}
		st.Holders = append(st.Holders, h)
	case found.held:
		h := found.readHolder(found.detail)
		h.TTL = reply.TTL(found.left)
		st.Holders = append(st.Holders, h)
	}
	for end, record := range scoredRecords(found.holders) {
		weight, detail, _ := strings.Cut(record, " ")
		h := found.readHolder(detail)
		if ms, err := strconv.ParseInt(end, 10, 64); err == nil {
			h.TTL = luascript.Duration(max(ms-found.now, 0))
		}
		h.Weight, _ = strconv.Atoi(weight)
		if st.Kind == driver.Lock {
			h.Mode = driver.Shared
		}
		st.Holders = append(st.Holders, h)
	}
	st.Waiting = int(found.waiting)
	for _, record := range scoredRecords(found.waiters) {
		st.Queue = append(st.Queue, found.readWaiter(record, st.Kind))
	}
}

// scoredRecords yields pairs of a score and a record.
func scoredRecords(list []any) iter.Seq2[string, string] {
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

// nextPart returns where to continue, if there may be more holders or waiters. The position must increase each time,
// since another program may have written the scores; otherwise this part is the last.
func (found *statusReply) nextPart(p statusPart) statusPart {
	behind := func(list []any, from string) string {
		if len(list) < 2*partSize {
			return noPart
		}
		last, _ := list[len(list)-2].(string)
		now, err := strconv.ParseFloat(last, 64)
		before, _ := strconv.ParseFloat(from, 64)
		if err != nil || !(now > before || from == fromStart) || math.IsInf(now, 0) {
			return noPart
		}
		return last
	}
	return statusPart{behind(found.holders, p.holders), behind(found.waiters, p.waiters)}
}

// mergeStatus adds another part of a status. A holder that renewed in between appears in both, as its lease now ends
// later.
func mergeStatus(st *driver.Status, more driver.Status) {
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

// readHolder reads "<token> <tokens> <granted, us>\n<text>".
func (found *statusReply) readHolder(detail string) driver.Holder {
	numbers, text, _ := strings.Cut(detail, "\n")
	fields := strings.Fields(numbers)
	h := driver.Holder{Weight: 1, Holder: text, Age: -1}
	if len(fields) >= 3 { // where the holder can be asked to let go may follow
		if h.Token, _ = strconv.ParseUint(fields[0], 10, 64); h.Token > driver.MaxToken {
			h.Token = 0 // not a valid token
		}
		h.MayBeIdle = len(fields) == 4
		if granted, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
			h.Age = elapsedSince(granted, found.now*1000, time.Microsecond)
		}
	}
	return h
}

// readWaiter reads the record of a waiter.
func (found *statusReply) readWaiter(record string, kind driver.Kind) driver.Waiter {
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
		w.Age = elapsedSince(joined, found.now, time.Millisecond)
	}
	return w
}

// elapsedSince returns how long ago something was, or a negative duration if one of the times is invalid.
func elapsedSince(then, now int64, unit time.Duration) time.Duration {
	if then < 0 || now < 0 {
		return -1
	}
	return time.Duration(min(max(now-then, 0), int64(math.MaxInt64/unit))) * unit
}
