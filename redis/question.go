package redis

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// question is under way to a server. Those who want to know the same wait for it.
type question struct {
	slot     uint16  // of the name by whose key the server is found
	lacks    *server // has been seen to lack the scripts
	asked    time.Time
	patience time.Duration // after which it is asked again
	answered bool          // guarded by the place's mu; done is closed right after that
	done     chan struct{}
	server   *server
	err      error
}

// topic is what a question is about: a server that is thought to keep some slots, or else a slot.
type topic struct {
	server *server
	slot   uint16
	gate   bool // it is about the marker of the slot there
	moving bool // the slot is on its way from there, and the marker is to say so
	silent bool // it may be, and a server is not heard of; see meetSilence
}

// slow is after how long without an answer a question is asked again: on another connection, as that of the first may be dead. After that it
// takes twice as long each time.
const slow = time.Second

// verify asks a server whether it still is what it was. All slots that it is thought to keep have one question in common, which finds its
// way by the key of one of them. If that leads to another server or fails, it tells the others nothing: they ask about their own.
func (p *place) verify(ctx context.Context, n names, s *server) (*server, error) {
	q, err := p.await(ctx, n, topic{server: s}, nil)
	switch {
	case err != nil:
		return nil, err
	case q.server == s || q.slot == p.slot(n):
		return q.server, q.err
	}
	return p.learn(ctx, n, nil)
}

// learn asks the server of a slot what it is, and sees to it that it has the scripts. lacks is the server whose scripts were not known
// where they were sent: it has lost them, or is another one than was thought.
func (p *place) learn(ctx context.Context, n names, lacks *server) (*server, error) {
	q, err := p.await(ctx, n, topic{slot: p.slot(n)}, lacks)
	if err != nil {
		return nil, err
	}
	return q.server, q.err
}

// await returns a question that has been answered.
func (p *place) await(ctx context.Context, n names, about topic, lacks *server) (*question, error) {
	for q := (*question)(nil); ; {
		q = p.question(ctx, n, about, lacks, q)
		late := time.NewTimer(time.Until(q.asked.Add(q.patience)))
		select {
		case <-q.done:
			late.Stop()
			return q, nil
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return nil, driver.NoEffect(ctx.Err())
		}
	}
}

// question returns the one that is under way, or a new one, to somebody who has waited for the last one until it was late. That one
// may just have been answered, and is as good as any: whoever began anew then, with the first patience, might meet with the same again and again.
func (p *place) question(ctx context.Context, n names, about topic, lacks *server, last *question) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last != nil && last.answered {
		return last
	}
	before := p.asking[about]
	late := before != nil && time.Since(before.asked) >= before.patience
	if before != nil && !late && (before.lacks == lacks || lacks == nil) {
		return before
	}
	q := &question{slot: p.slot(n), lacks: lacks, asked: time.Now(), patience: slow, done: make(chan struct{})}
	if late {
		q.patience = 2 * before.patience
		if lacks == nil {
			q.lacks = before.lacks
		}
	}
	p.asking[about] = q
	go p.answer(context.WithoutCancel(ctx), q, about, n)
	return q
}

// answer answers a question. It goes on when those who asked have gone: others may have come.
func (p *place) answer(ctx context.Context, q *question, about topic, n names) {
	switch {
	case about.gate:
		q.err = p.read(ctx, n, about.server)
	case about.moving:
		q.err = p.shutMoving(ctx, n)
	case about.silent:
		q.err = p.shutGiven(ctx, n)
	default:
		q.server, q.err = p.ask(ctx, n, q.lacks)
	}
	p.mu.Lock()
	q.answered = true
	if p.asking[about] == q {
		delete(p.asking, about)
	}
	p.mu.Unlock()
	close(q.done)
}
