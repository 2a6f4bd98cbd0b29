package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/batch"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// pipeliner sends scripts to one server. Scripts of many goroutines that are in flight at the same time go in
// one write, and their answers come in one read: system calls cost client and server more than a short script does.
//
// Unlike a [batcher], it takes any script, and the server runs each by itself.
type pipeliner struct {
	batch.Batcher[*pipelinedScript]
	client   redis.UniversalClient
	inFlight atomic.Int32 // scripts
	pool     sync.Pool    // of *pipelinedScript that were answered
}

// pipelinedScript is a script that its sender waits for, or has left.
type pipelinedScript struct {
	cmd      luascript.SingleCommand
	deadline time.Time
	reply    batch.Reply // without a value: the answer is in cmd
}

// maxUnpipelined is how many scripts may be in flight in commands of their own.
const maxUnpipelined = 2

func (p *pipeliner) init(e *Engine) {
	p.client = e.client
	p.pool.New = func() any { return new(pipelinedScript) }
	p.Batcher = batch.Batcher[*pipelinedScript]{
		MaxSenders: maxSenders,
		MaxOverdue: maxOverdue,
		MaxBatch:   maxBatch,
		Go:         e.workers.Go,
		Send:       p.sendAll,
		Fail:       (*pipelinedScript).answer,
		ErrClosed:  errEngineClosed,
		ErrBusy:    errBusy,
	}
}

// send sends a script, alone or with those of others. It returns as late as the client would, so that its caller gets a
// late answer; with leave, it returns when ctx ends. The error says whether there was an effect, as the client's would.
func (p *pipeliner) send(ctx context.Context, cmd luascript.SingleCommand, leave bool) error {
	defer p.inFlight.Add(-1)
	if p.inFlight.Add(1) <= maxUnpipelined {
		return p.client.Process(ctx, cmd)
	}
	s := p.pool.Get().(*pipelinedScript)
	s.cmd, s.deadline = cmd, requestDeadline(ctx)
	_, err := p.Wait(ctx, s, &s.reply, leave)
	if err == nil {
		s.cmd = luascript.SingleCommand{}
		p.pool.Put(s)
	}
	return err
}

// answer ends a script.
func (s *pipelinedScript) answer(err error) { s.reply.Settle(nil, err) }

// sendAll sends scripts. It reports whether they were answered before the last of their deadlines: after that, others
// send, too.
func (p *pipeliner) sendAll(scripts []*pipelinedScript) (inTime bool) {
	end := scripts[0].deadline
	for _, s := range scripts[1:] {
		if s.deadline.After(end) {
			end = s.deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	overdue := time.AfterFunc(time.Until(end), p.NoteOverdue)
	pipe := p.client.Pipeline()
	for _, s := range scripts {
		_ = pipe.Process(ctx, s.cmd) // a pipeline only queues it
	}
	luascript.SetPipelineError(pipe.Exec(ctx))
	inTime = overdue.Stop()
	for _, s := range scripts {
		s.answer(s.cmd.Err())
	}
	return inTime
}
