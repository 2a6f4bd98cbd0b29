package postgres

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// mostInsistent is for how long a renewal is tried again at most while its row is being changed.
const mostInsistent = 250 * time.Millisecond

// Renew implements [driver.Engine]. A batch is one statement. A row that another transaction changes at that moment, such as another renewal, is asked for
// again for a short while, unless a transaction may guard it, which can take long.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	pending := make([]int, len(batch))
	for i := range batch {
		pending[i] = i
	}
	began := time.Now()
	for pause := time.Millisecond; len(pending) > 0; pause *= 2 {
		again := pending[:0]
		for _, i := range e.renew(ctx, batch, pending, report) {
			if e.guarded.has(batch[i].Name) || time.Since(began)+pause > min(mostInsistent, batch[i].TTL/10) {
				report(i, errBusy)
			} else {
				again = append(again, i)
			}
		}
		if pending = again; len(pending) > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done(): // as the next request says
			}
		}
	}
}

// renew asks once for some of a batch, and returns those whose rows are being changed. It reports on the others.
func (e *Engine) renew(ctx context.Context, batch []driver.Renewal, some []int, report func(i int, err error)) (busy []int) {
	kinds, names, owners := make([]int16, len(some)), make([]string, len(some)), make([]string, len(some))
	tokens, ttls := make([]int64, len(some)), make([]time.Duration, len(some))
	for j, i := range some {
		r := batch[i]
		kinds[j], names[j], owners[j], tokens[j], ttls[j] = int16(r.Kind), r.Name, r.Owner, int64(r.Token), whole(r.TTL)
	}
	var held []*int32
	err := e.ask(ctx, locking, []any{&held}, e.statements.renew, kinds, names, owners, tokens, ttls)
	for j, i := range some {
		switch {
		case err != nil:
			report(i, err)
		case j >= len(held) || held[j] == nil:
			busy = append(busy, i)
		case *held[j] == 0:
			e.guarded.forget(batch[i].Name, batch[i].Token)
			report(i, driver.ErrNotHeld)
		default:
			report(i, nil)
		}
	}
	return busy
}

// Release implements [driver.Engine]. It does not wait for a transaction that guards the lease: the name stays taken until that transaction has ended.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	e.waiters.forget(r.Owner)
	e.guarded.forget(r.Name, r.Token)
	var keep *time.Duration
	if r.Keep > 0 {
		d := whole(r.Keep)
		keep = &d
	}
	err := e.release(ctx, r.Hold, keep)
	if err == nil || driver.IsNo(err) {
		e.wanted.Remove(r.Key)
	}
	return err
}

func (e *Engine) release(ctx context.Context, h driver.Hold, keep *time.Duration) error {
	errand := e.errandOfRelease(h, keep)
	var held *bool
	for _, query := range []string{e.statements.release, e.statements.releaseShut} {
		if err := e.fly(ctx, errand, &held, query, int16(h.Kind), h.Name, h.Owner, keep); err != nil {
			return err
		}
		if errand.isDone() {
			held = &errand.held
		}
		if held != nil {
			break
		}
	}
	if held == nil || !*held {
		return driver.ErrNotHeld
	}
	return nil
}

// ForceRelease implements [driver.Forcer]. Any token of the holder's range stands for it.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if token > driver.MaxToken {
		return driver.ErrNotHeld
	}
	return e.end(ctx, e.statements.force, int16(k.Kind), k.Name, int64(token))
}

// Downgrade implements [driver.Downgrader].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	return e.end(ctx, e.statements.downgrade, int16(h.Kind), h.Name, h.Owner)
}

// end runs a statement that answers whether there was a holder.
func (e *Engine) end(ctx context.Context, query string, args ...any) error {
	var held bool
	if err := e.fly(ctx, nil, &held, query, args...); err != nil {
		return err
	}
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}
