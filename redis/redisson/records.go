package redisson

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// A call of a [Semaphore] has a record on the server, so that only one of its requests has an effect.
const (
	// recordTime is for how long the server remembers a call, unless it learns that its only request was answered.
	recordTime = time.Hour
	// repeatTime is for how long a call is repeated. A request that is sent so late finds the record, even if it needs
	// long to arrive.
	repeatTime = recordTime / 2
	// deletePause is for how long records are collected that nobody needs any more.
	deletePause = time.Second
	// deletedTogether is how many of them go to the server together.
	deletedTogether = 100
	// maxRepeats is how many calls are repeated for longer than shortRepeat: an outage may leave very many.
	maxRepeats  = 1000
	shortRepeat = 20 * time.Second
)

// repeat repeats a request in the background until the server answers, for a time at most.
func (e *Engine) repeat(limit time.Duration, send func(context.Context) error) {
	e.background.Go(func(life context.Context) { repeat(life, limit, &e.repeats, send) })
}

// repeat is Engine.repeat in the foreground. long counts the calls that are repeated for longer than shortRepeat.
func repeat(life context.Context, limit time.Duration, long *atomic.Int64, send func(context.Context) error) {
	ctx, cancel := context.WithTimeout(life, limit)
	defer cancel()
	began, isLong := time.Now(), false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		_, err := within(ctx, answerTimeout, func(ctx context.Context) (any, error) { return nil, send(ctx) })
		if err == nil || driver.IsPermanent(err) {
			return
		}
		if !isLong && time.Since(began) > shortRepeat {
			isLong = true
			defer long.Add(-1)
			if long.Add(1) > maxRepeats {
				return
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// settled are records that nobody needs any more, by the names of semaphores. The zero value is ready.
type settled struct {
	mu     sync.Mutex
	byName map[string][]string
}

// settle lets the server forget a call whose only request was answered.
func (e *Engine) settle(name, record string) {
	e.settled.mu.Lock()
	defer e.settled.mu.Unlock()
	if e.settled.byName == nil {
		e.settled.byName = map[string][]string{}
		time.AfterFunc(deletePause, func() { e.background.Go(e.deleteSettled) })
	}
	e.settled.byName[name] = append(e.settled.byName[name], record)
}

// deleteSettled deletes records that nobody needs any more. What the server does not answer in time expires.
func (e *Engine) deleteSettled(life context.Context) {
	e.settled.mu.Lock()
	byName := e.settled.byName
	e.settled.byName = nil
	e.settled.mu.Unlock()
	ctx, cancel := context.WithTimeout(life, answerTimeout)
	defer cancel()
	for _, records := range byName {
		for some := range slices.Chunk(records, deletedTogether) {
			_ = detach.Run(ctx, &e.workers, func(ctx context.Context) error {
				return e.client.Del(ctx, some...).Err()
			})
		}
	}
}
