package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/batch"
)

// batcher sends the requests of many goroutines to one server, several in one script: see runUncontended.
//
// A sender whose batch is still unanswered when all of its requests are useless is given up: the outcome of the batch
// is unknown, and another sender takes over.
type batcher struct {
	batch.Batcher[*uncontendedRequest]
	engine *Engine
	pool   sync.Pool // of *waitedRequest that were answered
	calls  sync.Pool // of *scriptCall, whose memory may be used again
}

const (
	// maxSenders is how many senders are busy at the same time: while the server handles the batch of one, the other
	// prepares the next.
	maxSenders = 2
	// maxOverdue is how many senders may be overdue before no new ones are started.
	maxOverdue = 16
	// maxBatch is how many requests go in one batch. The server does nothing else while it handles them.
	maxBatch = 64
)

func (b *batcher) init(e *Engine) {
	b.engine = e
	b.pool.New = b.newWaitedRequest
	b.calls.New = func() any { return new(scriptCall) }
	b.Batcher = batch.Batcher[*uncontendedRequest]{
		MaxSenders: maxSenders,
		MaxOverdue: maxOverdue,
		MaxBatch:   maxBatch,
		Go:         e.workers.Go,
		Send:       b.send,
		Fail:       func(r *uncontendedRequest, err error) { r.onAnswer(nil, err) },
		ErrClosed:  errEngineClosed,
		ErrBusy:    errBusy,
	}
}

// send sends those requests of a batch that are not past their deadlines. It reports false if they were given up.
func (b *batcher) send(requests []*uncontendedRequest) bool {
	now := time.Now()
	var end time.Time
	requests = slices.DeleteFunc(requests, func(r *uncontendedRequest) bool {
		if !now.Before(r.deadline) {
			r.onAnswer(nil, driver.NoEffect(context.DeadlineExceeded))
			return true
		}
		if r.deadline.After(end) {
			end = r.deadline
		}
		return false
	})
	if len(requests) == 0 {
		return true
	}
	// The releases come first. Sort before the timer runs: after that, giveUp may read the batch at any time.
	slices.SortStableFunc(requests, func(x, y *uncontendedRequest) int { return cmp.Compare(x.kind, y.kind) })
	s := &sentBatch{
		Context: context.Background(), batcher: b, requests: requests, deadline: end, done: make(chan struct{}),
	}
	s.timer = time.AfterFunc(end.Sub(now), s.giveUp)
	return s.run()
}

// sentBatch is a batch on its way to the server and back. It is also the context of what is sent, and ends when the
// batch is overdue.
type sentBatch struct {
	context.Context // for its values alone: the batch has a deadline of its own
	batcher         *batcher
	requests        []*uncontendedRequest
	deadline        time.Time // when it is given up
	done            chan struct{}
	timer           *time.Timer // calls giveUp
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
	if len(b.requests) == 1 {
		return b.sendOneByOne()
	}
	answer, err := b.sendInOneScript()
	all, _ := answer.([]any)
	answers, ok := batchAnswers(all, b.requests)
	if err == nil && !ok {
		err = errReply
	}
	if mustSendOneByOne(err) {
		return b.sendOneByOne()
	}
	return b.answerAll(func(i int) (any, error) {
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
	if errors.Is(err, errGrantsClosed) {
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

// answerAll ends the batch with the answer to each request, and reports whether that was before the batch was given up.
func (b *sentBatch) answerAll(answerTo func(i int) (any, error)) bool {
	inTime := b.timer.Stop()
	for i, r := range b.requests {
		answer, err := answerTo(i)
		if inTime {
			r.onAnswer(answer, err)
		} else {
			b.batcher.engine.releaseGrant(r, answer, err)
		}
	}
	return inTime
}

// giveUp ends the batch when it is overdue.
func (b *sentBatch) giveUp() {
	close(b.done)
	for _, r := range b.requests {
		r.onAnswer(nil, driver.Spent(context.DeadlineExceeded))
	}
	b.batcher.NoteOverdue()
}

// sendInOneScript sends all requests in one script.
func (b *sentBatch) sendInOneScript() (any, error) {
	memory := b.batcher.calls.Get().(*scriptCall)
	call := appendBatch(append((*memory)[:0], nil, nil, nil), b.requests...)
	e := b.batcher.engine
	answer, _, err := e.runScript(b, e.send, scriptBatch, b.requests[0].names, call)
	if err == nil { // after an error, the client may still read what it has not sent
		*memory = call
		b.batcher.calls.Put(memory)
	}
	return answer, err
}

// sendOneByOne sends each request in a script of its own, until the batch is given up.
func (b *sentBatch) sendOneByOne() bool {
	e := b.batcher.engine
	answers, errs := make([]any, len(b.requests)), make([]error, len(b.requests))
	for i, r := range b.requests {
		if b.Err() != nil {
			break
		}
		answers[i], _, errs[i] = e.runScript(b, e.send, r.script(), r.names, r.call())
	}
	return b.answerAll(func(i int) (any, error) { return answers[i], errs[i] })
}
