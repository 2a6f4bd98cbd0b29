package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// courier carries errands, one batch after the other.
type courier struct {
	couriers *couriers
	calls    chan bool // whether there is something to do, or it is to end

	// What is sent, in memory that is used again.
	batch []*errand
	words words
}

// work carries errands until the courier is sent home, or is late.
func (k *courier) work() {
	for {
		t, stale := k.couriers.pack(k)
		for _, r := range stale {
			r.finish(nil, driver.NoEffect(context.DeadlineExceeded))
		}
		switch {
		case t != nil:
			if !t.carry() {
				k.couriers.find()
				return
			}
		case len(stale) == 0 && !<-k.calls:
			return
		}
	}
}

// trip is the way of a courier to the server and back. It is the context of what is sent, which ends when the courier is late.
type trip struct {
	context.Context // without an end and values
	*courier
	end  time.Time
	done chan struct{}
	over atomic.Bool // the courier has come back, or is late
	late *time.Timer
}

// begin makes a trip that must be over at end.
func begin(k *courier, end time.Time) *trip {
	return &trip{Context: context.Background(), courier: k, end: end, done: make(chan struct{})}
}

// Deadline implements [context.Context].
func (t *trip) Deadline() (time.Time, bool) { return t.end, true }

// Done implements [context.Context].
func (t *trip) Done() <-chan struct{} { return t.done }

// Err implements [context.Context].
func (t *trip) Err() error {
	select {
	case <-t.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// carry sends the errands to the server. It reports false if the courier is late: then their outcome is unknown, and what was sent
// may still be read by the client.
func (t *trip) carry() bool {
	// The releases come first. They are sorted before the timer runs, as lose reads the batch at any time after that.
	slices.SortStableFunc(t.batch, func(a, b *errand) int { return cmp.Compare(a.kind, b.kind) })
	t.late = time.AfterFunc(time.Until(t.end), t.lose)
	if len(t.batch) == 1 {
		return t.alone()
	}
	answer, err := t.send()
	answers, ok := answer.([]any)
	if err == nil && (!ok || len(answers) != len(t.batch)) {
		err = errReply
	}
	if concernsOne(err) {
		return t.alone()
	}
	if !t.arrive() {
		return false
	}
	if err != nil {
		t.words = nil // the client may still read what it has not sent
	}
	for i, r := range t.batch {
		if err != nil {
			r.finish(nil, err)
		} else if failed, is := answers[i].(string); is {
			r.finish(nil, explain(refusedErrand(failed)))
		} else {
			r.finish(answers[i], nil)
		}
	}
	return true
}

// concernsOne reports whether an error comes of some of the errands, and is to concern nobody else: grants are closed, or the user has no right to
// a name, or something before the servers does not let names be asked for together. Nothing has been done then.
func concernsOne(err error) bool {
	var reply redis.Error
	return errors.Is(err, errAsk) || errors.As(err, &reply) && (driver.IsPermanent(err) || redis.HasErrorPrefix(err, "CROSSSLOT"))
}

// refusedErrand is the error with which the server has answered to one errand.
type refusedErrand string

// Error implements error.
func (r refusedErrand) Error() string { return string(r) }

// RedisError implements redis.Error.
func (refusedErrand) RedisError() {}

// arrive reports whether the courier is back in time. Then the trip is over.
func (t *trip) arrive() bool {
	t.late.Stop()
	return t.over.CompareAndSwap(false, true)
}

// lose gives the courier up.
func (t *trip) lose() {
	if !t.over.CompareAndSwap(false, true) {
		return
	}
	close(t.done)
	for _, r := range t.batch {
		r.finish(nil, context.DeadlineExceeded)
	}
	t.couriers.lose()
}

// send sends all errands in one script.
func (t *trip) send() (any, error) {
	releases := 0
	t.words = append(t.words[:0], nil, nil, nil)
	for _, r := range t.batch {
		t.words = r.keys(t.words)
		if r.kind == aRelease {
			releases++
		}
	}
	t.words[2] = len(t.words) - 3
	t.words = append(t.words, releases)
	for _, r := range t.batch {
		t.words = r.args(t.words)
	}
	e := t.couriers.engine
	answer, _, err := e.runBy(t, e.evaluate, together, t.batch[0].names, ifOpen, t.words)
	return answer, err
}

// alone sends the errands one by one, until the courier is late.
func (t *trip) alone() bool {
	e := t.couriers.engine
	answers, errs := make([]any, len(t.batch)), make([]error, len(t.batch))
	for i, r := range t.batch {
		if t.over.Load() {
			break
		}
		answers[i], _, errs[i] = e.runBy(t, e.evaluate, r.script(), r.names, r.may(), r.command())
	}
	if !t.arrive() {
		return false
	}
	for i, r := range t.batch {
		r.finish(answers[i], errs[i])
	}
	return true
}
