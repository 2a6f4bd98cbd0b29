package postgres

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
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
// alone and at once. Later requests queue until a sender is free, and then go out together.
//
// Takes of free names, and releases of names that nobody waits for, are done in one transaction for the whole batch,
// which never waits for a lock (see [batcher.runAtOnce]). The other requests of a batch are sent and answered together,
// but each is a transaction of its own: it holds no lock while another request waits, and it fails alone.
type batcher struct {
	engine  *Engine
	running sync.WaitGroup

	mu          sync.Mutex
	freeSenders int                     // how many more batches may be sent now; positive only if the queue is empty
	inFlight    map[*sentBatch]struct{} // batches that were sent and not answered yet
	queue       []*request              // requests that wait for a sender
	checking    bool                    // a timer will run reassignSlow
	closed      bool
}

// sentBatch is a batch in flight.
type sentBatch struct {
	sentAt     time.Time
	reassigned bool // it was so slow that its sender counts as free again
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
	return &batcher{
		engine:      e,
		freeSenders: min(max(runtime.GOMAXPROCS(0), 2), 4, int(e.pool.Config().MaxConns)),
		inFlight:    make(map[*sentBatch]struct{}),
	}
}

// canBatch reports whether requests may be sent together over a pool. They may not if the pool is told to prepare no
// statements, as it must be behind a pooler.
func canBatch(pool *pgxpool.Pool, polling bool) bool {
	return pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && !polling
}

// ask sends a request and waits for the answer. If ctx ends, ask returns at once; a request that was sent may still
// have an effect.
func (b *batcher) ask(ctx context.Context, r *request) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return errClosed
	}
	if b.freeSenders > 0 {
		b.freeSenders--
		own := b.startLocked()
		b.mu.Unlock()
		b.send(ctx, []*request{r})
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.endLocked(own) {
			b.freeSenderLocked()
		}
		return r.err
	}
	r.done = make(chan struct{})
	b.queue = append(b.queue, r)
	b.startCheckLocked()
	b.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if b.withdraw(r) {
		return driver.NoEffect(ctx.Err())
	}
	return ctx.Err() // it was sent, or is about to be
}

// withdraw removes a request from the queue, and reports whether it was still there.
func (b *batcher) withdraw(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, r)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
	return i >= 0
}

// startLocked adds a batch that is about to be sent.
func (b *batcher) startLocked() *sentBatch {
	own := &sentBatch{sentAt: time.Now()}
	b.inFlight[own] = struct{}{}
	return own
}

// endLocked removes a batch that was answered, and reports whether it still has its sender.
func (b *batcher) endLocked(own *sentBatch) bool {
	delete(b.inFlight, own)
	return !own.reassigned
}

// freeSenderLocked makes a sender available, or has it send the queue.
func (b *batcher) freeSenderLocked() {
	if len(b.queue) == 0 {
		b.freeSenders++
		return
	}
	b.running.Go(b.sendQueued)
}

// startCheckLocked starts the timer that finds slow batches, if requests are queued. Without a queue nothing is timed,
// because a timer for each batch would cost about as much as sending it.
func (b *batcher) startCheckLocked() {
	if b.checking || len(b.queue) == 0 || b.closed {
		return
	}
	b.checking = true
	time.AfterFunc(slowBatch, b.reassignSlow)
}

// reassignSlow frees the senders of slow batches for the requests that are queued.
func (b *batcher) reassignSlow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checking = false
	for slow := range b.inFlight {
		if len(b.queue) > 0 && !b.closed && !slow.reassigned && time.Since(slow.sentAt) >= slowBatch {
			slow.reassigned = true
			b.freeSenderLocked()
		}
	}
	b.startCheckLocked()
}

// sendQueued sends batches until the queue is empty.
func (b *batcher) sendQueued() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.freeSenderLocked()
			b.mu.Unlock()
			return
		}
		n := min(len(b.queue), maxBatch)
		batch := b.queue[:n:n]
		if b.queue = b.queue[n:]; len(b.queue) == 0 {
			b.queue = nil
		}
		own := b.startLocked()
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(b.engine.ctx, batchTimeout)
		b.send(ctx, batch)
		cancel()
		b.mu.Lock()
		kept := b.endLocked(own)
		b.mu.Unlock()
		if !kept {
			return
		}
		runtime.Gosched() // callers that were just answered may have another request
	}
}

// stop refuses all further requests and waits for the senders. The engine's context has ended.
func (b *batcher) stop() {
	b.mu.Lock()
	b.closed = true
	for _, r := range b.queue {
		r.end(errClosed)
	}
	b.queue = nil
	b.mu.Unlock()
	b.running.Wait()
}

// send sends a batch and reads the answers.
func (b *batcher) send(ctx context.Context, batch []*request) {
	conn, err := b.engine.pool.Acquire(ctx)
	if err != nil {
		for _, r := range batch {
			r.end(explainNotSent(err))
		}
		return
	}
	defer conn.Release()
	prepared := batch[:0:0]
	for _, r := range b.runAtOnce(ctx, conn.Conn(), batch) {
		if r.statement, err = conn.Conn().Prepare(ctx, r.query, r.query); err != nil {
			r.end(explainNotSent(err))
			continue
		}
		prepared = append(prepared, r)
	}
	if len(prepared) == 0 {
		return
	}
	if len(prepared) == 1 {
		prepared[0].sendAlone(ctx, conn.Conn())
	} else {
		sendAll(ctx, conn.Conn(), prepared)
	}
	for _, r := range prepared {
		forgetStatement(ctx, conn.Conn(), r.query, r.serverErr)
	}
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
