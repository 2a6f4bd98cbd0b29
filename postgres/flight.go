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
	// mostAboard is how many requests fly together.
	mostAboard = 64
	// flightLimit is how long requests that fly together may take.
	flightLimit = 5 * time.Second
	// flightSlow is after how long a flight does not count any more, so that another one may start: a request of it waits for something.
	flightSlow = 50 * time.Millisecond
)

// Codes of errors that a prepared statement meets when others have thrown it away, or changed what it answers with.
const (
	noStatement = "26000"
	otherResult = "0A000"
)

var errNoAnswer = errors.New("the server has answered with something else than a row")

// flights send the requests of many goroutines over few connections. Who comes while there is room flies alone, and at once. Who comes later waits
// until a flight is back, and flies with all others who have come meanwhile. What is free is taken, and what nobody waits for is released, in one
// transaction for all of them, which waits for nobody (see [flights.atOnce]). The other requests are sent together, and answered together, but each is
// a transaction of its own, which holds no lock while another one waits, and fails alone.
type flights struct {
	engine  *Engine
	running sync.WaitGroup

	mu       sync.Mutex
	free     int                  // how many more flights there may be; above 0 only if nobody waits
	aloft    map[*flight]struct{} // those that there are
	queue    []*request           // who wait for one
	watching bool                 // somebody will look for slow flights
	closed   bool
}

// flight is one on its way.
type flight struct {
	since time.Time
	lent  bool // it took so long that its place has been given to another one
}

// request is one statement that answers with one row.
type request struct {
	query     string
	values    [][]byte
	errand    *errand // what at_once must know to answer it; nil if it cannot
	statement *pgconn.StatementDescription
	done      chan struct{} // closed when there is an answer; nil for one who flies alone
	row       [][]byte
	failed    error // what the server or pgx said
	err       error // the outcome
}

func newFlights(e *Engine) *flights {
	return &flights{
		engine: e,
		free:   min(max(runtime.GOMAXPROCS(0), 2), 4, int(e.pool.Config().MaxConns)),
		aloft:  make(map[*flight]struct{}),
	}
}

// allowed reports whether requests may fly together over a pool: not if it is told to prepare nothing, as is right where a pooler stands in between.
func allowed(pool *pgxpool.Pool, polling bool) bool {
	return pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && !polling
}

// ask sends a request and waits for the answer. If ctx ends it returns at once; what was sent may still have an effect.
func (f *flights) ask(ctx context.Context, r *request) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errClosed
	}
	if f.free > 0 {
		f.free--
		own := f.startLocked()
		f.mu.Unlock()
		f.send(ctx, []*request{r})
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.endLocked(own) {
			f.freeLocked()
		}
		return r.err
	}
	r.done = make(chan struct{})
	f.queue = append(f.queue, r)
	f.watchLocked()
	f.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if f.leave(r) {
		return driver.NoEffect(ctx.Err())
	}
	return ctx.Err() // it has been sent, or is about to be
}

// leave takes back a request, unless it flies already.
func (f *flights) leave(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.queue, r)
	if i >= 0 {
		f.queue = slices.Delete(f.queue, i, i+1)
	}
	return i >= 0
}

// startLocked notes that a flight begins.
func (f *flights) startLocked() *flight {
	own := &flight{since: time.Now()}
	f.aloft[own] = struct{}{}
	return own
}

// endLocked notes that a flight is back, and reports whether it has its place still.
func (f *flights) endLocked(own *flight) bool {
	delete(f.aloft, own)
	return !own.lent
}

// freeLocked gives the place of a flight back, or to those who wait.
func (f *flights) freeLocked() {
	if len(f.queue) == 0 {
		f.free++
		return
	}
	f.running.Go(f.serve)
}

// watchLocked sees to it that slow flights are found out while somebody waits. Nobody looks as long as none does: a timer for each flight would cost
// about as much as sending it.
func (f *flights) watchLocked() {
	if f.watching || len(f.queue) == 0 || f.closed {
		return
	}
	f.watching = true
	time.AfterFunc(flightSlow, f.lend)
}

// lend gives the places of slow flights to others.
func (f *flights) lend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watching = false
	for slow := range f.aloft {
		if len(f.queue) > 0 && !f.closed && !slow.lent && time.Since(slow.since) >= flightSlow {
			slow.lent = true
			f.freeLocked()
		}
	}
	f.watchLocked()
}

// serve flies with those who wait, as long as there are any.
func (f *flights) serve() {
	for {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.freeLocked()
			f.mu.Unlock()
			return
		}
		n := min(len(f.queue), mostAboard)
		batch := f.queue[:n:n]
		if f.queue = f.queue[n:]; len(f.queue) == 0 {
			f.queue = nil
		}
		own := f.startLocked()
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(f.engine.life, flightLimit)
		f.send(ctx, batch)
		cancel()
		f.mu.Lock()
		kept := f.endLocked(own)
		f.mu.Unlock()
		if !kept {
			return
		}
		runtime.Gosched() // those who were answered just now may have another request
	}
}

// stop refuses all requests from now on, and waits until none flies with others. The life of the engine has ended.
func (f *flights) stop() {
	f.mu.Lock()
	f.closed = true
	for _, r := range f.queue {
		r.end(errClosed)
	}
	f.queue = nil
	f.mu.Unlock()
	f.running.Wait()
}

// send sends requests, and takes their answers.
func (f *flights) send(ctx context.Context, batch []*request) {
	conn, err := f.engine.pool.Acquire(ctx)
	if err != nil {
		for _, r := range batch {
			r.end(notSent(err))
		}
		return
	}
	defer conn.Release()
	aboard := batch[:0:0]
	for _, r := range f.atOnce(ctx, conn.Conn(), batch) {
		if r.statement, err = conn.Conn().Prepare(ctx, r.query, r.query); err != nil {
			r.end(notSent(err))
			continue
		}
		aboard = append(aboard, r)
	}
	if len(aboard) == 0 {
		return
	}
	if len(aboard) == 1 {
		aboard[0].sendAlone(ctx, conn.Conn())
	} else {
		sendAll(ctx, conn.Conn(), aboard)
	}
	for _, r := range aboard {
		prepareAnew(ctx, conn.Conn(), r.query, r.failed)
	}
}

// prepareAnew throws a statement away if it has failed since others have done so, or have changed what it answers with: the next one prepares it anew.
func prepareAnew(ctx context.Context, conn *pgx.Conn, query string, failed error) {
	if said, ok := errors.AsType[*pgconn.PgError](failed); ok && (said.Code == noStatement || said.Code == otherResult) {
		_ = conn.Deallocate(ctx, query)
	}
}

// sendAlone sends one request, and takes its answer.
func (r *request) sendAlone(ctx context.Context, conn *pgx.Conn) {
	r.row, r.failed = only(conn.PgConn().ExecStatement(ctx, r.statement, r.values, binaryFormat, binaryFormat))
	r.end(landed(r.failed))
}

// sendAll sends requests together, and takes their answers.
func sendAll(ctx context.Context, conn *pgx.Conn, aboard []*request) {
	p := conn.PgConn().StartPipeline(ctx)
	for _, r := range aboard {
		p.SendQueryStatement(r.statement, r.values, binaryFormat, binaryFormat)
		p.SendPipelineSync() // ends the transaction
	}
	err := p.Flush()
	for _, r := range aboard {
		if err == nil {
			r.row, err = receive(p)
		}
		r.failed = err
		if _, said := errors.AsType[*pgconn.PgError](err); said {
			err = nil // of this request alone
		}
	}
	// All are told together: to wake them one by one costs more than they would gain.
	for _, r := range aboard {
		r.end(landed(r.failed))
	}
	_ = p.Close() // the pool closes a connection that is broken
}

// end notes the outcome of a request.
func (r *request) end(err error) {
	r.err = err
	if r.done != nil {
		close(r.done)
	}
}
