package quorum

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// link is a place as one client sees it: requests and replies take time, get lost, and come twice.
type link struct {
	place *place
	plan  func(ctx context.Context, method, owner string) fate
	skew  time.Duration // of the client's wall clock, where the floor comes from
	rule  *rule
	name  string // of the place
}

var _ Node = (*link)(nil)

// fate is what happens to one request and its reply.
type fate struct {
	before, after time.Duration
	until         <-chan struct{} // it is held back until this is closed, however long that takes; nil: it is not
	lost          bool            // it never arrives
	mute          bool            // the reply is lost
	broken        bool            // the reply is an error, because the connection breaks
	again         time.Duration   // it arrives once more, so much later
	jump          time.Duration   // the place's clock is set forward so far right after it
}

// send sends a request and returns the reply. What has left arrives, whether or not the caller still waits.
func send[T any](ctx context.Context, l *link, method, owner string, effect func(*memory.Engine) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, driver.NoEffect(err)
	}
	f := l.plan(ctx, method, owner)
	connection := l.place.connection()
	once := func() (r reply) {
		var e *memory.Engine
		if e, r.err = l.place.reach(context.Background(), connection); r.err == nil {
			r.value, r.err = effect(e)
			if f.jump > 0 {
				l.place.jump(f.jump)
			}
		}
		return r
	}
	replies := make(chan reply, 1)
	go func() {
		time.Sleep(f.before)
		if f.lost {
			return
		}
		if f.until != nil {
			<-f.until
		}
		r := once()
		if f.again > 0 {
			go func() {
				time.Sleep(f.again)
				once()
			}()
		}
		time.Sleep(f.after)
		if f.broken {
			r = reply{err: errCut}
		}
		if !f.mute {
			replies <- r
		}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (l *link) Abilities() driver.Abilities {
	return driver.Abilities{Name: "link", Force: true, Raise: true}
}

func (l *link) ask(r driver.Request) driver.Request {
	if r.Floor > 0 {
		r.Floor = uint64(max(int64(r.Floor)+l.skew.Microseconds(), 1))
	}
	return r
}

func (l *link) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	l.rule.take(r.Owner, l.name)
	return l.taking(ctx, r)
}

func (l *link) taking(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return send(ctx, l, "take", r.Owner, func(e *memory.Engine) (driver.Grant, error) { return l.place.take(e, l.ask(r)) })
}

// Wait leaves its place in the queue when ctx ends, or joins the queue only then, and stays there.
func (l *link) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	l.rule.take(r.Owner, l.name)
	r = l.ask(r)
	f := l.plan(ctx, "wait", r.Owner)
	connection := l.place.connection()
	if f.lost {
		<-ctx.Done()
		return driver.Grant{}, ctx.Err()
	}
	arrive := time.NewTimer(f.before)
	defer arrive.Stop()
	select {
	case <-arrive.C:
	case <-ctx.Done():
		left := f.before
		go func() {
			time.Sleep(left)
			if e, err := l.place.reach(context.Background(), connection); err == nil {
				r.Join = true
				_, _ = l.place.take(e, r)
			}
		}()
		return driver.Grant{}, ctx.Err()
	}
	e, err := l.place.reach(ctx, connection)
	if err != nil {
		return driver.Grant{}, err
	}
	if err := l.place.open(); err != nil {
		return driver.Grant{}, err
	}
	under, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-connection:
			cancel()
		case <-under.Done():
		}
	}()
	g, err := e.Wait(under, l.place.asked(r))
	if err != nil {
		if ctx.Err() == nil {
			err = errCut
		}
		return g, err
	}
	l.place.note(driver.Hold{Key: r.Key, Owner: r.Owner}, g.Token, r.Tokens)
	if f.mute {
		<-ctx.Done()
		return driver.Grant{}, ctx.Err()
	}
	if _, err := l.place.reach(ctx, connection); err != nil {
		return driver.Grant{}, err
	}
	back := time.NewTimer(f.after)
	defer back.Stop()
	select {
	case <-back.C:
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
	if f.broken {
		return driver.Grant{}, errCut
	}
	return g, nil
}

func (l *link) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	for i, item := range batch {
		_, err := send(ctx, l, "renew", item.Owner, func(e *memory.Engine) (answer struct{}, err error) {
			e.Renew(context.Background(), []driver.Renewal{item}, func(_ int, outcome error) { err = outcome })
			return answer, err
		})
		if err == nil || driver.IsNo(err) || ctx.Err() == nil {
			report(i, err)
		}
	}
}

func (l *link) Release(ctx context.Context, r driver.Release) error {
	l.rule.release(r.Owner, l.name)
	_, err := send(ctx, l, "release", r.Owner, func(e *memory.Engine) (struct{}, error) { return struct{}{}, l.place.release(e, r) })
	return err
}

func (l *link) Raise(ctx context.Context, r driver.Raise) error {
	_, err := send(ctx, l, "raise", r.Owner, func(e *memory.Engine) (struct{}, error) { return struct{}{}, l.place.raise(e, r) })
	return err
}

func (l *link) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	_, err := send(ctx, l, "force", "", func(e *memory.Engine) (struct{}, error) {
		return struct{}{}, e.ForceRelease(context.Background(), k, token)
	})
	return err
}

func (l *link) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return send(ctx, l, "list", "", func(e *memory.Engine) ([]driver.Status, error) { return e.List(context.Background(), q) })
}

// Opens answers at once, as one does that has just been asked something else.
func (l *link) Opens(context.Context) (time.Time, error) {
	if until := l.place.settled(); time.Now().Before(until) {
		return until, nil
	}
	return time.Time{}, nil
}

// Wanted answers as an engine does whose client watches the queue.
func (l *link) Wanted(k driver.Key) bool {
	l.place.mu.Lock()
	defer l.place.mu.Unlock()
	return l.place.engine.Wanted(k)
}

// noClock is the skew of a client whose clock is of no use: places then count from zero.
const noClock = -100 * 365 * 24 * time.Hour
