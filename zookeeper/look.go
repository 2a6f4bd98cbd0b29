package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// mayJoin looks whether one who would have to wait should not even join: it answers ErrHeld then.
func (e *Engine) mayJoin(ctx context.Context, r *driver.Request) error {
	seats, err := e.look(ctx, r.Key)
	if err != nil {
		return err
	}
	seats = append(seats, seat{mode: modeOf(r), weight: r.Weight, size: r.Size})
	v, err := e.settleDoubts(ctx, r.Key, judge(seats, len(seats)-1))
	if err == nil && !v.holds {
		err = driver.ErrHeld
	}
	return err
}

// mayTry is mayJoin for one of whom there may be doubt: what it has asked for before may have arrived since it was looked for, and be what holds. It returns that.
func (e *Engine) mayTry(ctx context.Context, r *driver.Request, c claim, doubt bool) (*place, error) {
	err := e.mayJoin(ctx, r)
	if !doubt || !errors.Is(err, driver.ErrHeld) {
		return nil, err
	}
	p, failed := e.recover(ctx, r, c)
	if p != nil || failed != nil {
		return p, failed
	}
	return nil, err
}

// look reads who holds and who waits. It answers errGone if the node of the name is not there.
func (e *Engine) look(ctx context.Context, k driver.Key) ([]seat, error) {
	names, err := e.client.children(ctx, e.parent(k))
	if errors.Is(err, zk.ErrNoNode) {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	return lineUp(names)
}

// consider says how the one at a place stands. It answers errGone if the place, or one that it depends on, has gone.
func (e *Engine) consider(ctx context.Context, p *place) (verdict, error) {
	seats, err := e.look(ctx, p.Key)
	at := find(seats, p.name)
	if errors.Is(err, errGone) || err == nil && at < 0 {
		e.drop(p)
		return verdict{}, errGone
	}
	if err != nil {
		return verdict{}, err
	}
	v, err := e.settleDoubts(ctx, p.Key, judge(seats, at))
	if err != nil {
		return v, err
	}
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	p.verdict, p.seen = v, true
	p.waited = p.waited || v.behind || !v.holds
	return v, nil
}

// settleDoubts finds out what the names of places do not tell: whether a writer is content to be a reader, and whether kept places are over. It answers
// errGone if it has found one gone, or removed it.
func (e *Engine) settleDoubts(ctx context.Context, k driver.Key, v verdict) (verdict, error) {
	if v.holds {
		return v, nil
	}
	parent := e.parent(k)
	if v.doubt {
		data, _, err := e.client.get(ctx, parent+"/"+v.ahead)
		if err != nil {
			return v, gone(err)
		}
		v.holds = recordOf(data).Shared
	}
	for _, name := range v.kept {
		left, err := e.keptFor(ctx, parent, name)
		if err != nil {
			return v, err
		}
		if v.left == 0 || left < v.left {
			v.left = left
		}
	}
	return v, nil
}

// keptFor returns for how much longer a place is kept, by the clock of the servers: the time of its creation, and that of a transaction of now. One
// that is over is removed, and the answer is errGone.
func (e *Engine) keptFor(ctx context.Context, parent, name string) (time.Duration, error) {
	path := parent + "/" + name
	data, stat, err := e.client.get(ctx, path)
	if err != nil {
		return 0, gone(err)
	}
	now, err := e.client.set(ctx, parent, nil)
	if err != nil {
		return 0, gone(err)
	}
	if left := keptLeft(recordOf(data), stat, now.Mtime); left > 0 {
		return left, nil
	}
	if err := e.client.remove(ctx, path); err != nil {
		return 0, gone(err)
	}
	return 0, errGone
}

// keptLeft is for how much longer a place is kept. Both times are cut to milliseconds, which may hide one.
func keptLeft(r record, stat *zk.Stat, now int64) time.Duration {
	return time.Duration(r.TTL+1-(now-stat.Ctime)) * time.Millisecond
}

// gone makes errGone of an answer that there is no such node.
func gone(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return errGone
	}
	return err
}

// recover finds the place of an owner whose take had no answer. It returns nil if there is none.
func (e *Engine) recover(ctx context.Context, r *driver.Request, c claim) (*place, error) {
	parent := e.parent(r.Key)
	if err := e.client.catchUp(ctx, parent); err != nil {
		return nil, err
	}
	seats, err := e.look(ctx, r.Key)
	if err != nil && !errors.Is(err, errGone) {
		return nil, err
	}
	for _, s := range seats {
		if s.id != c.id || s.kept || e.places.isDoomed(s.name) {
			continue
		}
		p := &place{claim: c, parent: parent, name: s.name, mode: s.mode, weight: s.weight, size: s.size, holder: r.Holder, ttl: millis(r.TTL)}
		stat, err := e.client.exists(ctx, p.path())
		if err != nil {
			return nil, err
		}
		// That of a session before is about to go.
		if session, _ := e.client.current(); stat == nil || stat.EphemeralOwner != session {
			continue
		}
		p.token, p.session = uint64(stat.Czxid), stat.EphemeralOwner
		return e.note(p, false, r.TTL), nil
	}
	return nil, nil
}
