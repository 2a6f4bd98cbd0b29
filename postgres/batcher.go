package postgres

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/internal/batch"
)

const (
	// maxBatch is the largest number of requests in one batch.
	maxBatch = 64
	// batchTimeout is how long the server may take to answer a batch.
	batchTimeout = 5 * time.Second
	// slowBatch is how long a batch may occupy a sender. After that another batch may be sent: one of the requests is
	// probably waiting for a lock.
	slowBatch = 50 * time.Millisecond
)

// SQLSTATE codes of a prepared statement that another user of the connection has deallocated, or whose result type has
// changed.
const (
	noStatement = "26000"
	otherResult = "0A000"
)

var errNoAnswer = errors.New("the server has answered with something else than a row")

// batcher sends the requests of many goroutines over a few connections. A request that finds a free sender goes out
// alone and at once, from its own goroutine. Later requests queue until a sender is free, and then go out together.
//
// Takes of free names, and releases of names that nobody waits for, are done in one transaction for the whole batch,
// which never waits for a lock. So are joins of queues, and releases to the heads of queues, in another transaction
// (see [batcher.runAtOnce]). The other requests of a batch are sent and answered together,
// but each is a transaction of its own: it holds no lock while another request waits, and it fails alone.
type batcher struct {
	batch.Batcher[*request]
	engine  *Engine
	running sync.WaitGroup // senders with a goroutine of their own

	mu       sync.Mutex
	inFlight map[*sentBatch]struct{} // batches that were sent and not answered yet
	checking bool                    // a timer will run replaceSlow
}

// sentBatch is a batch in flight.
type sentBatch struct {
	sentAt  time.Time
	overdue bool // it was so slow that another sender took its place
}

// request is one statement that answers with one row.
type request struct {
	query     string
	values    [][]byte
	atOnce    *atOnceRequest // what the function at_once needs to know of it; nil if at_once cannot do it
	statement *pgconn.StatementDescription
	done      chan struct{} // closed when there is an answer; nil for a request that is sent by its own goroutine
	row       [][]byte
	serverErr error // what the server or pgx answered
	err       error // the outcome for the caller
}

func newBatcher(e *Engine) *batcher {
	b := &batcher{engine: e, inFlight: make(map[*sentBatch]struct{})}
	b.Batcher = batch.Batcher[*request]{
		MaxSenders: min(max(runtime.GOMAXPROCS(0), 2), 4, int(e.pool.Config().MaxConns)),
		MaxOverdue: math.MaxInt, // the size of the pool limits them
		MaxBatch:   maxBatch,
		Go:         b.running.Go,
		Send:       b.sendQueued,
		Fail:       (*request).end,
		ErrClosed:  errClosed,
	}
	return b
}

// canBatch reports whether requests may be sent together over a pool. They may not if the pool is told to prepare no
// statements, as it must be behind a pooler.
func canBatch(pool *pgxpool.Pool, polling bool) bool {
	return pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && !polling
}

// ask sends a request and waits for the answer. If ctx ends, ask returns at once; a request that was sent may still
// have an effect.
func (b *batcher) ask(ctx context.Context, r *request) error {
	if b.Begin() {
		b.End(b.sendTimed(ctx, []*request{r}))
		return r.err
	}
	r.done = make(chan struct{})
	b.Add(r)
	b.startCheck()
	if err := b.Await(ctx, r, r.done); err != nil {
		return err
	}
	return r.err
}

// sendQueued sends a batch from the queue. It reports what sendTimed does.
func (b *batcher) sendQueued(requests []*request) bool {
	ctx, cancel := context.WithTimeout(b.engine.ctx, batchTimeout)
	defer cancel()
	inTime := b.sendTimed(ctx, requests)
	runtime.Gosched() // callers that were just answered may have another request
	return inTime
}

// sendTimed sends a batch. It reports whether the batch kept its sender, because it was not slow.
func (b *batcher) sendTimed(ctx context.Context, requests []*request) (inTime bool) {
	own := &sentBatch{sentAt: time.Now()}
	b.mu.Lock()
	b.inFlight[own] = struct{}{}
	b.mu.Unlock()
	b.send(ctx, requests)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inFlight, own)
	return !own.overdue
}

// startCheck starts the timer that finds slow batches, if requests are queued. Without a queue nothing is timed: a
// timer for each batch would make a request of a lone goroutine about 3 % slower.
func (b *batcher) startCheck() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startCheckLocked()
}

func (b *batcher) startCheckLocked() {
	if queued, _, _ := b.Load(); queued > 0 && !b.checking {
		b.checking = true
		time.AfterFunc(slowBatch, b.replaceSlow)
	}
}

// replaceSlow has other senders take the places of those with slow batches, as long as requests are queued.
func (b *batcher) replaceSlow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checking = false
	for slow := range b.inFlight {
		if queued, _, _ := b.Load(); queued > 0 && !slow.overdue && time.Since(slow.sentAt) >= slowBatch {
			slow.overdue = true
			b.NoteOverdue()
		}
	}
	b.startCheckLocked()
}

// stop refuses all further requests and waits for the senders. The engine's context has ended.
func (b *batcher) stop() {
	b.Close()
	b.running.Wait()
}

// send sends a batch and reads the answers. What was not sent, since the connection broke before, is sent over another
// one.
func (b *batcher) send(ctx context.Context, requests []*request) {
	unsent, err := b.sendOver(ctx, requests)
	if len(unsent) > 0 {
		unsent, err = b.sendOver(ctx, unsent)
	}
	for _, r := range unsent {
		r.end(explainNotSent(err))
	}
}

// sendOver sends a batch over one connection and reads the answers. If the connection breaks, it returns the requests
// that were not sent, and why.
func (b *batcher) sendOver(ctx context.Context, requests []*request) (unsent []*request, err error) {
	conn, err := b.engine.pool.Acquire(ctx)
	if err != nil {
		for _, r := range requests {
			r.end(explainNotSent(err))
		}
		return nil, nil
	}
	defer conn.Release()
	prepared := requests[:0:0]
	rest := b.runAtOnce(ctx, conn.Conn(), requests)
	for i, r := range rest {
		r.statement, err = conn.Conn().Prepare(ctx, r.query, r.query)
		switch {
		case err == nil:
			prepared = append(prepared, r)
		case conn.Conn().IsClosed():
			return append(prepared, rest[i:]...), err
		default:
			r.end(explainNotSent(err))
		}
	}
	switch len(prepared) {
	case 0:
	case 1:
		prepared[0].sendAlone(ctx, conn.Conn())
	default:
		sendAll(ctx, conn.Conn(), prepared)
	}
	for _, r := range prepared {
		forgetStatement(ctx, conn.Conn(), r.query, r.serverErr)
	}
	return nil, nil
}

// forgetStatement deallocates a prepared statement that has become invalid, so that the next request prepares it again.
func forgetStatement(ctx context.Context, conn *pgx.Conn, query string, failed error) {
	answered, ok := errors.AsType[*pgconn.PgError](failed)
	if ok && (answered.Code == noStatement || answered.Code == otherResult) {
		_ = conn.Deallocate(ctx, query)
	}
}

// sendAlone sends one request and reads its answer.
func (r *request) sendAlone(ctx context.Context, conn *pgx.Conn) {
	r.row, r.serverErr = readOneRow(conn.PgConn().ExecStatement(ctx, r.statement, r.values, binaryFormat, binaryFormat))
	r.end(explainSent(r.serverErr))
}

// sendAll sends several requests in a pipeline and reads their answers.
func sendAll(ctx context.Context, conn *pgx.Conn, prepared []*request) {
	p := conn.PgConn().StartPipeline(ctx)
	for _, r := range prepared {
		p.SendQueryStatement(r.statement, r.values, binaryFormat, binaryFormat)
		p.SendPipelineSync() // ends the transaction
	}
	err := p.Flush()
	for _, r := range prepared {
		if err == nil {
			r.row, err = readReply(p)
		}
		r.serverErr = err
		if _, answered := errors.AsType[*pgconn.PgError](err); answered {
			err = nil // only this request has failed
		}
	}
	// All callers are woken at the end: waking them one by one costs more than the first ones would gain.
	for _, r := range prepared {
		r.end(explainSent(r.serverErr))
	}
	_ = p.Close() // the pool closes a connection that is broken
}

// end stores the outcome of a request and wakes its caller.
func (r *request) end(err error) {
	r.err = err
	if r.done != nil {
		close(r.done)
	}
}
