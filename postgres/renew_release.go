package postgres

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// renewRetryLimit is the longest time for which a renewal is repeated while another transaction changes its row.
const renewRetryLimit = 250 * time.Millisecond

// Renew implements [driver.Engine]. A batch is one statement. If another transaction is changing a row, such as another
// renewal, that row is tried again for a short while. It is not tried again if a transaction may guard the lease,
// because that can take long.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	pending := make([]int, len(batch))
	for i := range batch {
		pending[i] = i
	}
	began := time.Now()
	for pause := time.Millisecond; len(pending) > 0; pause *= 2 {
		again := pending[:0]
		for _, i := range e.renew(ctx, batch, pending, report) {
			if e.guarded.has(batch[i].Name) || time.Since(began)+pause > min(renewRetryLimit, batch[i].TTL/10) {
				report(i, errBusy)
			} else {
				again = append(again, i)
			}
		}
		if pending = again; len(pending) > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done(): // the next request reports it
			}
		}
	}
}

// renew sends one request for some of a batch. It reports on all of them except those whose rows are being changed,
// whose indexes it returns.
func (e *Engine) renew(
	ctx context.Context, batch []driver.Renewal, some []int, report func(i int, err error),
) (busy []int) {
	kinds, names, owners := make([]int16, len(some)), make([]string, len(some)), make([]string, len(some))
	tokens, ttls := make([]int64, len(some)), make([]time.Duration, len(some))
	for j, i := range some {
		r := batch[i]
		kinds[j], names[j], owners[j] = int16(r.Kind), r.Name, r.Owner
		tokens[j], ttls[j] = int64(r.Token), roundUpMicros(r.TTL)
	}
	var held []*int32
	err := e.ask(ctx, toLock, []any{&held}, e.statements.renew, kinds, names, owners, tokens, ttls)
	for j, i := range some {
		switch {
		case err != nil:
			report(i, err)
		case j >= len(held) || held[j] == nil:
			busy = append(busy, i)
		case *held[j] == 0:
			e.guarded.forgetHold(batch[i].Name, batch[i].Token)
			report(i, driver.ErrNotHeld)
		default:
			report(i, nil)
		}
	}
	return busy
}

// Release implements [driver.Engine]. It does not wait for a transaction that guards the lease: the name stays taken
// until that transaction has ended.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	e.waiters.remove(r.Owner)
	e.guarded.forgetHold(r.Name, r.Token)
	var keep *time.Duration
	if r.Keep > 0 {
		d := roundUpMicros(r.Keep)
		keep = &d
	}
	err := e.release(ctx, r.Hold, keep)
	if err == nil || driver.IsNo(err) {
		e.wanted.Remove(r.Key)
	}
	return err
}

func (e *Engine) release(ctx context.Context, h driver.Hold, keep *time.Duration) error {
	queued := e.wanted.Has(h.Key) // others probably wait
	atOnce := releaseAtOnce(h, keep, queued)
	var held *bool
	queries := []string{e.statements.release, e.statements.releaseShut}
	if queued {
		queries = queries[1:]
	}
	for _, query := range queries {
		if err := e.sendShort(ctx, atOnce, &held, query, int16(h.Kind), h.Name, h.Owner, keep); err != nil {
			return err
		}
		if atOnce.isDone() {
			held = &atOnce.held
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

// ForceRelease implements [driver.Operator]. Any token of the holder's range identifies the holder.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	if token > driver.MaxToken {
		return driver.ErrNotHeld
	}
	return e.runEnd(ctx, e.statements.force, int16(k.Kind), k.Name, int64(token))
}

// Downgrade implements [driver.Engine].
func (e *Engine) Downgrade(ctx context.Context, h driver.Hold) error {
	return e.runEnd(ctx, e.statements.downgrade, int16(h.Kind), h.Name, h.Owner)
}

// runEnd runs a statement that ends or changes a hold and answers whether there was a holder.
func (e *Engine) runEnd(ctx context.Context, query string, args ...any) error {
	var held bool
	if err := e.sendShort(ctx, nil, &held, query, args...); err != nil {
		return err
	}
	if !held {
		return driver.ErrNotHeld
	}
	return nil
}
