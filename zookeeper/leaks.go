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
	"github.com/leasehold-go/leasehold/internal/paging"
)

// leakAge is how long something must have been of no use to count as a leak: a live process would have removed it
// before.
const leakAge = 5 * time.Second

// Leaks implements [driver.Operator]. It finds what processes leave that die at the wrong moment: nodes of names
// without entries, which are in nobody's way, and kept locks whose time is over, which are in the way until somebody
// wants the name. Times are those of the servers: to learn their present time, it writes to the node above the names. A
// user without the right to write there can still find leaks: they are then judged by the clock of this machine, and
// must be a minute older, as the clocks may differ by that much.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	q.After = driver.Key{}
	if err := e.client.sync(ctx, e.prefix); err != nil {
		return err
	}
	searched := 0
	for kind := range paging.Kinds(q) {
		if kindNodes[kind] == "" {
			continue
		}
		keys, err := e.readKeys(ctx, q, kind)
		if err != nil {
			return asUnexpected(err)
		}
		for part := range slices.Chunk(keys, listBatch) {
			now, err := e.serverTimeReadOnly(ctx, kind)
			if err != nil {
				return asUnexpected(err)
			}
			found := make([][]driver.Leak, len(part))
			errs := make([]error, len(part))
			forEach(len(part), func(i int) { found[i], errs[i] = e.readLeaks(ctx, part[i], now) })
			if err := errors.Join(errs...); err != nil {
				return asUnexpected(err)
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

// serverTime returns the time of the servers, in milliseconds since 1970. It writes to the node above the names of a
// kind.
func (e *Engine) serverTime(ctx context.Context, kind driver.Kind) (now int64, err error) {
	stat, err := e.client.set(ctx, e.kindNode(kind), nil)
	if err != nil {
		return 0, err
	}
	return stat.Mtime, nil
}

// maxClockDifference is how far the clock of this machine may be ahead of the servers'.
const maxClockDifference = time.Minute

// serverTimeReadOnly is serverTime for users who may not write as well: they get a time of this machine's clock that is
// not later than the servers'.
func (e *Engine) serverTimeReadOnly(ctx context.Context, kind driver.Kind) (now int64, err error) {
	if now, err = e.serverTime(ctx, kind); isForbidden(err) {
		return time.Now().Add(-maxClockDifference).UnixMilli(), nil
	}
	return now, err
}

// readLeaks returns the leaks of a name.
func (e *Engine) readLeaks(ctx context.Context, k driver.Key, now int64) (all []driver.Leak, err error) {
	found := func(mark string) {
		all = append(all, driver.Leak{Key: k, Sort: driver.Remains, Count: 1, Mark: mark})
	}
	stat, err := e.client.exists(ctx, e.nameNode(k))
	switch {
	case err != nil || stat == nil:
		return nil, err
	case stat.NumChildren == 0:
		if isLeftBehind(stat, now) {
			found(emptyMark(stat))
		}
		return all, nil
	}
	entries, err := e.readQueue(ctx, k)
	if errors.Is(err, errForgedSequence) {
		return nil, nil // it has to be cleared away by hand
	}
	if err != nil && !errors.Is(err, errGone) {
		return nil, err
	}
	kept, err := e.readNodes(ctx, k, slices.DeleteFunc(entries, func(entry queueEntry) bool { return !entry.kept }))
	for _, info := range kept {
		if isKeptTooLong(info.record, info.stat, now) {
			found(info.name)
		}
	}
	return all, err
}

// isLeftBehind reports whether the node of a name is empty and was not used for leakAge: joining writes to it.
func isLeftBehind(stat *zk.Stat, now int64) bool {
	return stat.NumChildren == 0 && now-stat.Mtime > leakAge.Milliseconds()
}

// isKeptTooLong reports whether a kept lock should have been removed a while ago.
func isKeptTooLong(r record, stat *zk.Stat, now int64) bool {
	return keptRemaining(r, stat, now) < -leakAge
}

// emptyMark returns a mark of a name's node that changes when somebody uses it, or creates it again.
func emptyMark(stat *zk.Stat) string { return fmt.Sprintf("%x.%d", stat.Czxid, stat.Version) }

// Sweep implements [driver.Operator].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	if kindNodes[l.Kind] == "" || l.Name == "" || l.Sort != driver.Remains || l.Mark == "" || escape(l.Mark) != l.Mark {
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

// sweepKept removes a kept lock. Its name is never used again.
func (e *Engine) sweepKept(ctx context.Context, l driver.Leak) error {
	if entry, ok := parseEntry(l.Mark); !ok || !entry.kept {
		return driver.ErrNotHeld
	}
	now, err := e.serverTime(ctx, l.Kind)
	if err != nil {
		return err
	}
	parent := e.nameNode(l.Key)
	data, stat, err := e.client.get(ctx, parent+"/"+l.Mark)
	if err != nil {
		return err
	}
	if !isKeptTooLong(readRecord(data), stat, now) {
		return driver.ErrNotHeld
	}
	return e.removeNode(ctx, parent, l.Mark, false)
}

// sweepEmpty removes the node of a name, unless somebody has used it since it was found.
func (e *Engine) sweepEmpty(ctx context.Context, l driver.Leak) error {
	now, err := e.serverTime(ctx, l.Kind)
	if err != nil {
		return err
	}
	stat, err := e.client.exists(ctx, e.nameNode(l.Key))
	if err != nil {
		return err
	}
	if stat == nil || emptyMark(stat) != l.Mark || !isLeftBehind(stat, now) {
		return driver.ErrNotHeld
	}
	return e.client.removeVersion(ctx, e.nameNode(l.Key), stat.Version)
}
