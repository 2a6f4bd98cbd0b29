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
	// listenLimit is how long it may take to make the connection that listens, and to do something with it.
	listenLimit = 5 * time.Second
	// pingAfter is for how long there may be silence before the connection is tried.
	pingAfter = 15 * time.Second
	// After a failure it is made anew, as long as somebody waits: at first and in the end after so long.
	againFirst, againLast = 50 * time.Millisecond, 5 * time.Second
)

// ears are the one connection on which an engine hears of grants. It is made when somebody first waits, and stays.
//
// It has a number, that of a lock which its session keeps: as long as nobody else can get that lock, those who wait with the number live.
type ears struct {
	engine  *Engine
	running sync.WaitGroup

	mu      sync.Mutex
	open    int64         // the number, or 0 while there is no connection
	active  bool          // the goroutine runs
	settled chan struct{} // closed when the next attempt has succeeded or failed
	err     error         // why the latest attempt failed

	latches map[string]map[chan struct{}]struct{} // who is told of a latch, by its name
}

func (s *ears) init(e *Engine) {
	s.engine = e
	s.latches = make(map[string]map[chan struct{}]struct{})
}

// number returns the number of the connection, or 0 if there is none.
func (s *ears) number() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// listen makes the connection if there is none, and returns its number.
func (s *ears) listen(ctx context.Context) (int64, error) {
	s.mu.Lock()
	if s.open != 0 {
		defer s.mu.Unlock()
		return s.open, nil
	}
	if s.engine.life.Err() != nil {
		s.mu.Unlock()
		return 0, errClosed
	}
	if !s.active {
		s.active = true
		s.settled = make(chan struct{})
		s.running.Go(s.run)
	}
	settled := s.settled
	s.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
		return 0, driver.NoEffect(ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		return 0, noEffect(s.err)
	}
	return s.open, nil
}

// settle tells of an attempt's outcome, and reports whether another one is to be made.
func (s *ears) settle(number int64, err error) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.err = number, err
	close(s.settled)
	s.settled = make(chan struct{})
	if err != nil && (s.engine.waiters.count.Load() == 0 && len(s.latches) == 0 || s.engine.life.Err() != nil) {
		s.active = false
		return false
	}
	return true
}

// run listens until the engine is closed. After a failure it goes on as long as somebody waits.
func (s *ears) run() {
	life := s.engine.life
	var former int64
	pause := againFirst
	for {
		conn, number, err := s.connect(former)
		if err != nil {
			if !s.settle(0, explain(fmt.Errorf("listening: %w", err))) {
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-life.Done():
			}
			timer.Stop()
			pause = min(2*pause, againLast)
			continue
		}
		s.settle(number, nil)
		if former != 0 {
			s.unheard()
		}
		former, pause = number, againFirst
		s.receive(conn)
		s.mu.Lock()
		s.open = 0
		s.mu.Unlock()
		closeNow(conn)
	}
}

// connect makes a connection that listens. Those who waited with the number of a former one keep their places.
func (s *ears) connect(former int64) (*pgx.Conn, int64, error) {
	e := s.engine
	ctx, cancel := context.WithTimeout(e.life, listenLimit)
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
	// A machine that has vanished without a word is found out in half a minute, and its waiters are passed over then.
	_, err = conn.Exec(ctx, fmt.Sprintf(`
		SELECT set_config('tcp_keepalives_idle', '15', false), set_config('tcp_keepalives_interval', '5', false),
			set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '30000', false);
		SELECT pg_advisory_lock(%d);
		LISTEN leasehold_%d`, number, number), pgx.QueryExecModeSimpleProtocol)
	if err == nil && former != 0 {
		_, err = conn.Exec(ctx, e.statements.move, pgx.QueryExecModeExec, number, former)
	}
	if err != nil {
		closeNow(conn)
		return nil, 0, err
	}
	return conn, number, nil
}

// receive takes in messages until the connection breaks, or the engine is closed.
func (s *ears) receive(conn *pgx.Conn) {
	life := s.engine.life
	for {
		ctx, cancel := context.WithTimeout(life, pingAfter)
		message, err := conn.WaitForNotification(ctx)
		silent := ctx.Err() != nil && life.Err() == nil
		cancel()
		switch {
		case err == nil:
			s.engine.heard(message.Payload)
		case silent && !conn.IsClosed():
			ctx, cancel := context.WithTimeout(life, listenLimit)
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

// unheard makes all look who wait, as messages may have been lost.
func (s *ears) unheard() {
	for _, w := range s.engine.waiters.all() {
		w.unheard()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.latches {
		s.stirLocked(name)
	}
}

// hear has a channel told of a latch, until the function is called that it returns.
func (s *ears) hear(latch string, wake chan struct{}) (stop func()) {
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

// stir wakes those who wait for a latch.
func (s *ears) stir(latch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stirLocked(latch)
}

func (s *ears) stirLocked(latch string) {
	for wake := range s.latches[latch] {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// closeNow ends a connection, and lets the server know if that takes no time.
func closeNow(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing can be done about it
}
