package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

const (
	// listenTimeout is how long it may take to make the listening connection, or to do something with it.
	listenTimeout = 5 * time.Second
	// pingInterval is how long the connection may be silent before it is tested.
	pingInterval = 15 * time.Second
	// The pause before the connection is made again after a failure, at first and at most.
	reconnectMin, reconnectMax = 50 * time.Millisecond, 5 * time.Second
)

// subscription is the connection on which an engine gets notifications. It is made when somebody first waits, and is
// kept from then on.
//
// It has a number, and its session holds the advisory lock of that number. The waiters that were registered with the
// number are alive as long as nobody else can get that lock.
type subscription struct {
	engine  *Engine
	running sync.WaitGroup

	mu          sync.Mutex
	listener    int64         // the number of the connection, or 0 if there is none
	active      bool          // the goroutine runs
	attemptDone chan struct{} // closed when the current attempt to connect has succeeded or failed
	err         error         // why the latest attempt failed

	latches map[string]map[chan struct{}]struct{} // channels to wake, by the name of the latch
}

func (s *subscription) init(e *Engine) {
	s.engine = e
	s.latches = make(map[string]map[chan struct{}]struct{})
}

// listenerNumber returns the number of the connection, or 0 if there is none.
func (s *subscription) listenerNumber() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

// subscribe makes the connection if there is none, and returns its number.
func (s *subscription) subscribe(ctx context.Context) (int64, error) {
	for {
		number, attemptDone, err := s.startAttempt()
		if number != 0 || err != nil {
			return number, err
		}
		select {
		case <-attemptDone:
		case <-ctx.Done():
			return 0, driver.NoEffect(ctx.Err())
		}
		s.mu.Lock()
		number, err = s.listener, s.err
		s.mu.Unlock()
		if number != 0 || err != nil {
			return number, noEffect(err)
		}
		// The attempt has succeeded, and the connection is already broken.
	}
}

// startAttempt returns the number of the connection. If there is none, it starts an attempt to connect, unless one is
// under way, and returns a channel that is closed when the attempt has ended.
func (s *subscription) startAttempt() (number int64, attemptDone chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.listener != 0:
		return s.listener, nil, nil
	case s.engine.ctx.Err() != nil:
		return 0, nil, errClosed
	case !s.active:
		s.active = true
		s.attemptDone = make(chan struct{})
		s.running.Go(s.run)
	}
	return 0, s.attemptDone, nil
}

// finishAttempt publishes the outcome of an attempt to connect, and reports whether to go on.
func (s *subscription) finishAttempt(number int64, err error) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener, s.err = number, err
	close(s.attemptDone)
	s.attemptDone = make(chan struct{})
	if err != nil && (s.engine.waiters.count.Load() == 0 && len(s.latches) == 0 || s.engine.ctx.Err() != nil) {
		s.active = false
		return false
	}
	return true
}

// run listens until the engine is closed. After a failure it goes on only if somebody waits.
func (s *subscription) run() {
	life := s.engine.ctx
	var former int64
	pause := reconnectMin
	for {
		conn, number, err := s.connect(former)
		if err != nil {
			if !s.finishAttempt(0, explain(fmt.Errorf("listening: %w", err))) {
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-life.Done():
			}
			timer.Stop()
			pause = min(2*pause, reconnectMax)
			continue
		}
		s.finishAttempt(number, nil)
		if former != 0 {
			s.wakeAllWaiters()
		}
		former, pause = number, reconnectMin
		s.receive(conn)
		s.mu.Lock()
		s.listener = 0
		s.mu.Unlock()
		closeQuickly(conn)
	}
}

// connect makes a listening connection. Waiters that were registered with the number of the former connection keep
// their places.
func (s *subscription) connect(former int64) (*pgx.Conn, int64, error) {
	e := s.engine
	ctx, cancel := context.WithTimeout(e.ctx, listenTimeout)
	defer cancel()
	c := e.pool.Config()
	if c.BeforeConnect != nil { // passwords may change
		if err := c.BeforeConnect(ctx, c.ConnConfig); err != nil {
			return nil, 0, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err != nil {
		return nil, 0, err
	}
	number := rand.Int64()
	// The server notices within half a minute that this machine has vanished, and then passes its waiters over.
	_, err = conn.Exec(ctx, fmt.Sprintf(`
		SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
			set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false);
		SELECT pg_advisory_lock(%d);
		LISTEN leasehold_%d`, number, number), pgx.QueryExecModeSimpleProtocol)
	if err == nil && former != 0 {
		_, err = conn.Exec(ctx, e.statements.moveWaiters, pgx.QueryExecModeExec, number, former)
	}
	if err != nil {
		closeQuickly(conn)
		return nil, 0, err
	}
	return conn, number, nil
}

// receive handles notifications until the connection breaks or the engine is closed.
func (s *subscription) receive(conn *pgx.Conn) {
	life := s.engine.ctx
	for {
		ctx, cancel := context.WithTimeout(life, pingInterval)
		message, err := conn.WaitForNotification(ctx)
		silent := ctx.Err() != nil && life.Err() == nil
		cancel()
		switch {
		case err == nil:
			s.engine.onMessage(message.Payload)
		case silent && !conn.IsClosed():
			ctx, cancel := context.WithTimeout(life, listenTimeout)
			err := conn.Ping(ctx)
			cancel()
			if err != nil {
				return
			}
		default:
			return
		}
	}
}

// wakeAllWaiters has all waiters poll, because notifications may have been lost.
func (s *subscription) wakeAllWaiters() {
	for _, w := range s.engine.waiters.all() {
		w.noteMessagesLost()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.latches {
		s.wakeLatchLocked(name)
	}
}

// watchLatch has a channel woken when a latch changes, until the returned function is called.
func (s *subscription) watchLatch(latch string, wake chan struct{}) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latches[latch] == nil {
		s.latches[latch] = make(map[chan struct{}]struct{})
	}
	s.latches[latch][wake] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.latches[latch], wake)
		if len(s.latches[latch]) == 0 {
			delete(s.latches, latch)
		}
	}
}

// wakeLatch wakes those who wait for a latch.
func (s *subscription) wakeLatch(latch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeLatchLocked(latch)
}

func (s *subscription) wakeLatchLocked(latch string) {
	for wake := range s.latches[latch] {
		select {
		case wake <- struct{}{}:
		default: // it will poll anyway
		}
	}
}

// closeQuickly closes a connection. It tells the server if that can be done within a second.
func closeQuickly(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing can be done about an error
}
