package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// leftFor is for how long something must have been of no use to count as left behind: whoever lives has cleared it away before.
const leftFor = 5 * time.Second

// Leaks implements [driver.Sweeper]. It finds what processes leave that die in the wrong moment: nodes of names without a place, which stand in
// nobody's way, and kept places that are over, which stand in the way until somebody wants the name. Times are those of the servers: to learn what
// they are now, it writes to the node above the names. Who may not write there only looks: then it goes by the clock of this machine, and tells of what has
// been of no use for a minute more, by which the clocks may be apart.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	if err := e.client.sync(ctx, e.prefix); err != nil {
		return err
	}
	searched := 0
	for _, kind := range driver.Kinds {
		if kinds[kind] == "" || q.Kind != 0 && q.Kind != kind {
			continue
		}
		keys, err := e.keys(ctx, q, kind)
		if err != nil {
			return surprise(err)
		}
		for part := range slices.Chunk(keys, window) {
			now, err := e.timeToLook(ctx, kind)
			if err != nil {
				return surprise(err)
			}
			found := make([][]driver.Leak, len(part))
			errs := make([]error, len(part))
			each(len(part), func(i int) { found[i], errs[i] = e.leaks(ctx, part[i], now) })
			if err := errors.Join(errs...); err != nil {
				return surprise(err)
			}
			for _, l := range slices.Concat(found...) {
				if !visit(l) {
					return nil
				}
			}
			if searched += len(part); q.Progress != nil {
				q.Progress(searched)
			}
		}
	}
	return nil
}

// askTime returns what time it is on the servers, in milliseconds.
func (e *Engine) askTime(ctx context.Context, kind driver.Kind) (now int64, err error) {
	stat, err := e.client.set(ctx, e.base(kind), nil)
	if err != nil {
		return 0, err
	}
	return stat.Mtime, nil
}

// mostApart is by how much the clock of this machine may be ahead of those of the servers.
const mostApart = time.Minute

// timeToLook is askTime for one who may not write: by the clock of this machine it is then no later than that on the servers.
func (e *Engine) timeToLook(ctx context.Context, kind driver.Kind) (now int64, err error) {
	if now, err = e.askTime(ctx, kind); forbidden(err) {
		return time.Now().Add(-mostApart).UnixMilli(), nil
	}
	return now, err
}

// leaks tells what is left behind of a name.
func (e *Engine) leaks(ctx context.Context, k driver.Key, now int64) (all []driver.Leak, err error) {
	found := func(mark string) {
		all = append(all, driver.Leak{Key: k, Sort: driver.Remains, Count: 1, Mark: mark})
	}
	stat, err := e.client.exists(ctx, e.parent(k))
	switch {
	case err != nil || stat == nil:
		return nil, err
	case stat.NumChildren == 0:
		if isLeft(stat, now) {
			found(emptyMark(stat))
		}
		return all, nil
	}
	seats, err := e.look(ctx, k)
	if errors.Is(err, errMadeUp) {
		return nil, nil // it has to be cleared away by hand
	}
	if err != nil && !errors.Is(err, errGone) {
		return nil, err
	}
	kept, err := e.inspect(ctx, k, slices.DeleteFunc(seats, func(s seat) bool { return !s.kept }))
	for _, o := range kept {
		if isOver(o.record, o.stat, now) {
			found(o.name)
		}
	}
	return all, err
}

// isLeft reports whether the node of a name was not used lately: whoever joins writes to it.
func isLeft(stat *zk.Stat, now int64) bool {
	return stat.NumChildren == 0 && now-stat.Mtime > leftFor.Milliseconds()
}

// isOver reports whether a kept place should have been removed a while ago.
func isOver(r record, stat *zk.Stat, now int64) bool { return keptLeft(r, stat, now) < -leftFor }

// emptyMark tells the node of a name from the same after somebody has used it, and from a later one.
func emptyMark(stat *zk.Stat) string { return fmt.Sprintf("%x.%d", stat.Czxid, stat.Version) }

// Sweep implements [driver.Sweeper].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	if kinds[l.Kind] == "" || l.Name == "" || l.Sort != driver.Remains || l.Mark == "" || escape(l.Mark) != l.Mark {
		return driver.ErrNotHeld
	}
	var err error
	if strings.HasPrefix(l.Mark, keptMark) {
		err = e.sweepKept(ctx, l)
	} else {
		err = e.sweepEmpty(ctx, l)
	}
	for _, no := range []error{zk.ErrNoNode, zk.ErrNotEmpty, zk.ErrBadVersion} {
		if errors.Is(err, no) {
			return driver.ErrNotHeld
		}
	}
	return err
}

// sweepKept removes a kept place, whose name never comes again.
func (e *Engine) sweepKept(ctx context.Context, l driver.Leak) error {
	if s, ok := parseSeat(l.Mark); !ok || !s.kept {
		return driver.ErrNotHeld
	}
	now, err := e.askTime(ctx, l.Kind)
	if err != nil {
		return err
	}
	parent := e.parent(l.Key)
	data, stat, err := e.client.get(ctx, parent+"/"+l.Mark)
	if err != nil {
		return err
	}
	if !isOver(recordOf(data), stat, now) {
		return driver.ErrNotHeld
	}
	return e.free(ctx, parent, l.Mark, false)
}

// sweepEmpty removes the node of a name, unless somebody has come since it was looked at.
func (e *Engine) sweepEmpty(ctx context.Context, l driver.Leak) error {
	now, err := e.askTime(ctx, l.Kind)
	if err != nil {
		return err
	}
	stat, err := e.client.exists(ctx, e.parent(l.Key))
	if err != nil {
		return err
	}
	if stat == nil || emptyMark(stat) != l.Mark || !isLeft(stat, now) {
		return driver.ErrNotHeld
	}
	return e.client.removeVersion(ctx, e.parent(l.Key), stat.Version)
}
