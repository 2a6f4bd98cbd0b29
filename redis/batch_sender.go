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

// batchSender is a goroutine that sends one batch after the other.
type batchSender struct {
	batcher *batcher
	wake    chan bool // true: there is something to send; false: end

	// What is sent. The memory is reused.
	batch []*batchRequest
	call  scriptCall
}

// loop sends batches until the sender is told to end, or one is overdue.
func (s *batchSender) loop() {
	for {
		b, stale := s.batcher.nextBatch(s)
		for _, r := range stale {
			r.finish(nil, driver.NoEffect(context.DeadlineExceeded))
		}
		switch {
		case b != nil:
			if !b.run() {
				s.batcher.noteReturned()
				return
			}
		case len(stale) == 0 && !<-s.wake:
			return
		}
	}
}

// sentBatch is a batch on its way to the server and back. It is also the context of what is sent, and ends when the
// batch is overdue.
type sentBatch struct {
	context.Context // for its values alone: the batch has a deadline of its own
	*batchSender
	deadline time.Time
	done     chan struct{}
	decided  atomic.Bool // the batch has been answered, or given up
	timer    *time.Timer
}

// newSentBatch returns a batch that is given up at end.
func newSentBatch(s *batchSender, end time.Time) *sentBatch {
	return &sentBatch{Context: context.Background(), batchSender: s, deadline: end, done: make(chan struct{})}
}

// Deadline implements [context.Context].
func (b *sentBatch) Deadline() (time.Time, bool) { return b.deadline, true }

// Done implements [context.Context].
func (b *sentBatch) Done() <-chan struct{} { return b.done }

// Err implements [context.Context].
func (b *sentBatch) Err() error {
	select {
	case <-b.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// run sends the requests to the server. It reports false if the batch was given up: then the outcome of the requests is
// unknown, and the client may still read what was sent.
func (b *sentBatch) run() bool {
	// The releases come first. Sort before the timer runs: after that, giveUp may read the batch at any time.
	slices.SortStableFunc(b.batch, func(x, y *batchRequest) int { return cmp.Compare(x.kind, y.kind) })
	b.timer = time.AfterFunc(time.Until(b.deadline), b.giveUp)
	if len(b.batch) == 1 {
		return b.sendOneByOne()
	}
	answer, err := b.sendTogether()
	answers, ok := answer.([]any)
	if err == nil && (!ok || len(answers) != len(b.batch)) {
		err = errReply
	}
	if mustSendOneByOne(err) {
		return b.sendOneByOne()
	}
	if err != nil {
		b.call = nil // the client may still read what it has not sent
	}
	return b.finish(func(i int) (any, error) {
		if err != nil {
			return nil, err
		} else if failed, is := answers[i].(string); is {
			return nil, explainError(requestError(failed))
		}
		return answers[i], nil
	})
}

// mustSendOneByOne reports whether only some of the requests caused an error, so that the others must not suffer:
// grants are closed, the user has no right to one of the names, or a proxy does not allow these names in one request.
// The batch had no effect then.
func mustSendOneByOne(err error) bool {
	var reply redis.Error
	if errors.Is(err, errUseFullScript) {
		return true
	}
	return errors.As(err, &reply) && (driver.IsPermanent(err) || redis.HasErrorPrefix(err, "CROSSSLOT"))
}

// requestError is the server's error reply to one request of a batch.
type requestError string

// Error implements error.
func (r requestError) Error() string { return string(r) }

// RedisError implements redis.Error.
func (requestError) RedisError() {}

// finish ends the batch with the answer to each request, and reports whether it was answered before it was given up.
func (b *sentBatch) finish(answerTo func(i int) (any, error)) bool {
	b.timer.Stop()
	inTime := b.decided.CompareAndSwap(false, true)
	for i, r := range b.batch {
		answer, err := answerTo(i)
		if inTime {
			r.finish(answer, err)
		} else {
			b.batcher.engine.releaseGrant(r, answer, err)
		}
	}
	return inTime
}

// giveUp ends the batch when it is overdue.
func (b *sentBatch) giveUp() {
	if !b.decided.CompareAndSwap(false, true) {
		return
	}
	close(b.done)
	for _, r := range b.batch {
		r.finish(nil, driver.Spent(context.DeadlineExceeded))
	}
	b.batcher.noteOverdue()
}

// sendTogether sends all requests in one script.
func (b *sentBatch) sendTogether() (any, error) {
	releases := 0
	b.call = append(b.call[:0], nil, nil, nil)
	for _, r := range b.batch {
		b.call = r.keys(b.call)
		if r.kind == releaseRequest {
			releases++
		}
	}
	b.call[2] = len(b.call) - 3
	b.call = append(b.call, releases)
	for _, r := range b.batch {
		b.call = r.args(b.call)
	}
	e := b.batcher.engine
	answer, _, err := e.runScript(b, e.send, scriptBatch, b.batch[0].names, b.call)
	return answer, err
}

// sendOneByOne sends each request in a script of its own, until the batch is given up.
func (b *sentBatch) sendOneByOne() bool {
	e := b.batcher.engine
	answers, errs := make([]any, len(b.batch)), make([]error, len(b.batch))
	for i, r := range b.batch {
		if b.decided.Load() {
			break
		}
		answers[i], _, errs[i] = e.runScript(b, e.send, r.script(), r.names, r.command())
	}
	return b.finish(func(i int) (any, error) { return answers[i], errs[i] })
}
