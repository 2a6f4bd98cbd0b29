package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Whatever a server, or somebody in its place, answers, the result is an error or a possible grant; and a waiter polls
// again, not at once and not never.
func FuzzReplies(f *testing.F) {
	for _, list := range [][]int64{
		nil, {5, 1}, {-5, 1}, {driver.MaxToken, 2}, {math.MaxInt64, math.MaxInt64},
		{0, 1, 1, math.MaxInt64, math.MaxInt64, 1, 1}, {0, 0, math.MinInt64, math.MaxInt64, math.MinInt64, -1, -1},
		{1, 1, 1, 5}, {1, math.MinInt64, 0},
	} {
		b := appendArray(nil, 20, list,
			func(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) })
		f.Add(b)
		f.Add(b[:len(b)/2])
		if len(b) > 16 {
			huge := append([]byte{}, b...)
			binary.BigEndian.PutUint32(huge[12:], math.MaxUint32)
			f.Add(huge)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var reply []*int64
		if err := decode([][]byte{b}, &reply); err != nil {
			return
		}
		if len(reply) > len(b)/4 {
			t.Fatalf("%d numbers of %d bytes", len(reply), len(b))
		}
		var held *bool
		_ = decode([][]byte{b}, &held)
		a := readAnswer(reply)
		if g, err := grantOf(a.token, int64(a.tokens), 3); err == nil && (g.Token < 1 || g.Token > driver.MaxToken ||
			g.Tokens < 1 || g.Tokens > 3) {
			t.Fatalf("%+v became the grant %+v", a, g)
		}
		w := &waiter{wake: make(chan struct{}, 1)}
		for _, alone := range []bool{false, true} {
			w.noteRefused(driver.Now(), a, alone)
			w.answeredAt = driver.Now()
			if pause := w.pollPause(); pause < time.Millisecond || pause > maxPollPause {
				t.Fatalf("%+v makes the waiter pause for %s", a, pause)
			}
		}
		requests := func() (all []*request) {
			for range 3 {
				all = append(all, &request{atOnce: new(atOnceRequest)})
			}
			return all
		}
		_ = readAtOnceReply(reply, requests(), requests())
		joins := requests()
		_ = readShutAtOnceReply(reply, requests(), joins)
		for _, r := range joins {
			if w.noteRefused(driver.Now(), r.atOnce.refusal, false); w.pollPause() > maxPollPause {
				t.Fatalf("%+v makes the waiter pause for %s", r.atOnce.refusal, w.pollPause())
			}
		}
	})
}

// A message is believed only if the SQL functions can have sent it.
func FuzzMessages(f *testing.F) {
	for _, numbers := range [][]any{
		{5, 1, 5000000, 1, 0}, {-5, 1, 5000000, 1, 0}, {0, 1, 5000000, 1, 0}, {int64(1 << 53), 1, 5000000, 1, 0},
		{int64(6e18), int64(6e18), 5000000, 1, 0}, {5, -1, 5000000, 1, 0}, {5, 1, -1, 1, 0},
		{5, 1, int64(math.MaxInt64), 1, 0}, {5, 1, 5000000, int64(math.MinInt64), -1},
	} {
		f.Add(fmt.Sprintf("g 7 %d %d %d %d %d", numbers...))
	}
	for _, text := range []string{"", "g", "h 7 -1", "h 7 9223372036854775807", "h 7 -9223372036854775808", "l ",
		"l x y", "g 7 1.5 1 1 1 1", "h 2 5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, message string) {
		e := &Engine{}
		e.subscription.init(e)
		e.waiters.init()
		w, _ := e.waiters.add("owner", driver.Key{Kind: driver.Lock, Name: "a"})
		e.waiters.byTicket[7] = w
		w.noteRequest(driver.Now())
		e.onMessage(message)
		if pause := w.pollPause(); pause < time.Millisecond || pause > maxPollPause {
			t.Errorf("%q makes the waiter pause for %s", message, pause)
		}
		if got, _ := w.takeGrant(); got != nil && (got.grant.Token < 1 || got.grant.Token > driver.MaxToken ||
			got.grant.Tokens < 1 || got.grant.TTL <= 0) {
			t.Errorf("%q became the grant %+v", message, got.grant)
		}
	})
}
