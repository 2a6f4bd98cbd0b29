package redis

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// decodeReply turns any bytes into a reply as the client library may return it: numbers, texts, lists and nil.
func decodeReply(b []byte, depth int) (v any, rest []byte) {
	if len(b) == 0 {
		return nil, nil
	}
	kind, b := b[0], b[1:]
	switch kind % 8 {
	case 0:
		return nil, b
	case 1, 2: // a small number
		if len(b) > 0 {
			return int64(int8(b[0])), b[1:]
		}
	case 3:
		if len(b) >= 8 {
			return int64(binary.BigEndian.Uint64(b)), b[8:]
		}
	case 4, 5:
		n := min(int(kind>>3), len(b))
		return string(b[:n]), b[n:]
	case 6:
		return true, b
	default:
		if depth == 0 {
			return []any{}, b
		}
		list := []any{}
		for range kind >> 3 {
			var one any
			one, b = decodeReply(b, depth-1)
			list = append(list, one)
		}
		return list, b
	}
	return nil, nil
}

// Whatever a server, or another program in its place, answers becomes an error or a possible grant.
func FuzzReplies(f *testing.F) {
	f.Add([]byte{})
	for _, numbers := range [][]int64{{5, 1, 0}, {0, 5, 5, 0, 0}, {math.MaxInt64, math.MaxInt64, 0}, {6e18, 6e18, 0},
		{-1, -1, -1}, {driver.MaxToken, 2, 1}, {0, 0, math.MaxInt64, -1, 1}, {1}} {
		b := []byte{7 | byte(len(numbers))<<3}
		for _, n := range numbers {
			b = binary.BigEndian.AppendUint64(append(b, 3), uint64(n))
		}
		f.Add(b)
	}
	f.Add([]byte{7 | 4<<3, 1, 0xff, 4, 4, 4}) // a marker that is open for less than no time
	text := func(s string) []byte { return append([]byte{4 | byte(len(s))<<3}, s...) }
	f.Add(append(append([]byte{7 | 7<<3, 1, 1, 1, 2}, text("5 1 9\nx")...), 1, 0, 7, 1, 3, 7))
	f.Add(append([]byte{7 | 3<<3}, append(text("12"), 1, 0xff, 1, 5)...))
	f.Add(append([]byte{7 | 5<<3},
		append(append(text("lease"), 1, 1), append(text("mark"), append(text("99"), 6)...)...)...))
	f.Add(append([]byte{7 | 2<<3, 7, 7 | 1<<3}, text(`{"at_us": 1}`)...))
	r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Tokens: 3}
	e := &Engine{config: config{prefix: DefaultPrefix}}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, _ := decodeReply(b, 4)
		checkGrant := func(g driver.Grant, err error) {
			if err == nil && (g.Token < 1 || g.Token > driver.MaxToken || g.Tokens < 1 || g.Tokens > r.Tokens) {
				t.Fatalf("%v became the grant %+v", v, g)
			}
		}
		g, _, _, err := readTake(v, r)
		checkGrant(g, err)
		for _, first := range []int64{1, driver.MaxToken - 2} {
			checkGrant(readTakeFree(v, nil, first, r))
		}
		grants, err := e.readTakeAll(v, []driver.Request{r, r})
		for _, g := range grants {
			checkGrant(g, err)
		}
		for _, kind := range driver.Kinds {
			st, _, err := readStatus(driver.Key{Kind: kind, Name: "a"}, statusPart{"5", "5"}, v, nil)
			for _, h := range st.Holders {
				if err == nil && (h.Token > driver.MaxToken || h.TTL < 0 && h.TTL != driver.NoTTL) {
					t.Fatalf("%v became the holder %+v", v, h)
				}
			}
			if st.Latch != nil && (st.Latch.Count < 0 || st.Latch.TTL < 0 && st.Latch.TTL != driver.NoTTL) {
				t.Fatalf("%v became the latch %+v", v, st.Latch)
			}
			var l driver.Leak
			_, _ = readLeak(&l, leakCandidate{driver.Key{Kind: kind, Name: "a"}, leakValue}, v)
		}
		if m, err := readMarkerReply(v, nil); err == nil && m.closedFor < 0 {
			t.Fatalf("%v became the marker %+v", v, m)
		}
		_, _, _ = readRemovals(v)
		_, _, _, _ = readPartReply(v, nil)
	})
}

// Whatever a server says of the lease in the way, a waiter polls again: neither at once nor never.
func FuzzPauses(f *testing.F) {
	for _, ms := range []int64{0, -1, 1, 1000, math.MaxInt64, math.MinInt64, math.MaxInt64 / 1_000_000,
		math.MaxInt64/1_000_000 - 1} {
		for polls := range 4 {
			f.Add(ms, int64(polls), uint8(polls), 3*polls)
			f.Add(ms, int64(-polls), uint8(polls), polls) // at the head
		}
		f.Add(ms, int64(math.MaxInt64), uint8(4), 0) // polls
		f.Add(ms, int64(math.MinInt64), uint8(4), 0)
	}
	methods := []string{"P", "S", "-"}
	f.Fuzz(func(t *testing.T, ms, place int64, flags uint8, polls int) {
		_, _, refused, _ := readTake([]any{int64(0), int64(1), ms, place, int64(flags & 1)}, driver.Request{Tokens: 1})
		w := &waiter{notifyBy: methods[int(flags>>1)%len(methods)], wake: make(chan struct{}, 1),
			foreignPolls: max(polls, 0)}
		w.noteRefused(driver.Now(), refused)
		w.hintedAt = driver.Now()
		if pause := w.pollPause(); pause < time.Millisecond || pause > maxPollInterval {
			t.Errorf("%d ms, at place %d: a pause of %s", ms, place, pause)
		}
	})
}

// A message is believed only if a script can have sent it.
func FuzzMessages(f *testing.F) {
	for _, numbers := range [][]any{
		{5, 1, 2000, 1, 0}, {-5, 1, 2000, 1, 0}, {0, 1, 2000, 1, 0}, {int64(1 << 53), 1, 2000, 1, 0},
		{int64(6e18), int64(6e18), 2000, 1, 0}, {5, -1, 2000, 1, 0},
		{5, 1, -1, 1, 0}, {5, 1, 0, 1, 0}, {5, 1, int64(math.MaxInt64), 1, 0}, {5, 1, 2000, int64(math.MaxInt64), 0},
		{5, 1, 2000, int64(math.MinInt64), -1},
	} {
		f.Add(fmt.Sprintf("g 1 %d %d %d %d %d", numbers...))
	}
	for _, text := range []string{"", "g", "h 1 -1", "h 1 9223372036854775807", "h 1 -9223372036854775808", "? 1 1",
		"g 1 1.5 1 1 1 1", "h 2 5 5 5", "g 1 5 1 2000 1 1\x009 ~ab\x003000\x00text", "p 1 5 1 2000 1 1 40 owner",
		"p 1 5 1 2000 1 1 -40 owner\x009 ~ab\x00-3000\x00text", "p 1 0 1 2000 1 1 40 owner",
		"p 1 5 1 2000 1 1 4 \x01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, message string) {
		e := &Engine{}
		e.waiters.init(func(*waiter) {})
		w := e.waiters.add("owner", driver.Key{Kind: driver.Lock, Name: "a"})
		w.noteRequest(driver.Now())
		e.onMessage(message)
		if pause := w.pollPause(); pause < time.Millisecond || pause > maxPollInterval {
			t.Errorf("%q makes the waiter pause for %s", message, pause)
		}
		if got, _ := w.whyWoken(); got != nil && (got.grant.Token < 1 || got.grant.Token > driver.MaxToken ||
			got.grant.Tokens < 1 || got.grant.TTL <= 0) {
			t.Errorf("%q became the grant %+v", message, got.grant)
		}
	})
}

// refusedWith is an error of a server, as the client returns it.
type refusedWith string

func (r refusedWith) Error() string { return string(r) }
func (refusedWith) RedisError()     {}

var _ redis.Error = refusedWith("")
