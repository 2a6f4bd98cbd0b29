package drivertest

import (
	"context"
	"fmt"
	"reflect"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

var (
	_ driver.AllTaker   = (*Faulty)(nil)
	_ driver.Exchanger  = (*Faulty)(nil)
	_ quorumnode.Node   = (*Faulty)(nil)
	_ driver.Wanter     = (*Faulty)(nil)
	_ driver.Latcher    = (*Faulty)(nil)
	_ driver.DataKeeper = (*Faulty)(nil)
)

// innerAs returns the wrapped engine as one of the optional interfaces.
func innerAs[T any](f *Faulty) (T, error) {
	inner, ok := f.inner.(T)
	if !ok {
		return inner, fmt.Errorf("drivertest: the engine %q behind Faulty is no %v: %w",
			f.inner.Abilities().Name, reflect.TypeFor[T](), driver.ErrUnsupported)
	}
	return inner, nil
}

// ForceRelease implements [driver.Operator].
func (f *Faulty) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	return f.do(ctx, f.fault(ctx, ForceRelease, k, ""), func(ctx context.Context) error {
		return f.operator.ForceRelease(ctx, k, token)
	})
}

// TakeAll implements [driver.AllTaker]. It is one request, and meets one fault.
func (f *Faulty) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	inner, ok := f.inner.(driver.AllTaker)
	if !ok {
		return nil, driver.ErrNotTogether
	}
	return through(ctx, f, f.fault(ctx, TakeAll, batch[0].Key, batch[0].Owner),
		func(ctx context.Context) ([]driver.Grant, error) {
			return inner.TakeAll(ctx, batch)
		})
}

// exchanged is the answer to an exchange whose take was granted or refused.
type exchanged struct {
	grant           driver.Grant
	released, taken error
}

// Exchange implements [driver.Exchanger]. It is one request, and meets one fault, if the wrapped engine is an
// Exchanger; otherwise it is a Release and a Take.
func (f *Faulty) Exchange(
	ctx context.Context, before driver.Release, r driver.Request,
) (g driver.Grant, released, err error) {
	inner, ok := f.inner.(driver.Exchanger)
	if !ok {
		released = f.Release(ctx, before)
		g, err = f.Take(ctx, r)
		return g, released, err
	}
	answer, err := through(ctx, f, f.fault(ctx, Exchange, r.Key, r.Owner),
		func(ctx context.Context) (x exchanged, _ error) {
			x.grant, x.released, x.taken = inner.Exchange(ctx, before, r)
			return x, nil
		})
	if err != nil {
		return g, err, err
	}
	return answer.grant, answer.released, answer.taken
}

// TakeFrom implements [quorumnode.Node]. It meets the faults of Take.
func (f *Faulty) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	inner, err := innerAs[quorumnode.Node](f)
	if err != nil {
		return driver.Grant{}, err
	}
	return through(ctx, f, f.fault(ctx, Take, r.Key, r.Owner), func(ctx context.Context) (driver.Grant, error) {
		return inner.TakeFrom(ctx, r)
	})
}

// WaitFrom implements [quorumnode.Node]. It meets the faults of Wait.
func (f *Faulty) WaitFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	inner, err := innerAs[quorumnode.Node](f)
	if err != nil {
		return driver.Grant{}, err
	}
	floor := r.Floor
	from := func(r driver.Request) quorumnode.Request { return quorumnode.Request{Request: r, Floor: floor} }
	return f.wait(ctx, r.Request,
		func(ctx context.Context, r driver.Request) (driver.Grant, error) { return inner.TakeFrom(ctx, from(r)) },
		func(ctx context.Context, r driver.Request) (driver.Grant, error) { return inner.WaitFrom(ctx, from(r)) })
}

// Raise implements [quorumnode.Node].
func (f *Faulty) Raise(ctx context.Context, r quorumnode.Raise) error {
	inner, err := innerAs[quorumnode.Node](f)
	if err != nil {
		return err
	}
	return f.do(ctx, f.fault(ctx, Raise, r.Key, r.Owner), func(ctx context.Context) error {
		return inner.Raise(ctx, r)
	})
}

// Votes implements [driver.Operator].
func (f *Faulty) Votes(ctx context.Context, k driver.Key) ([]driver.Vote, error) {
	return through(ctx, f, f.fault(ctx, Votes, k, ""), func(ctx context.Context) ([]driver.Vote, error) {
		return f.operator.Votes(ctx, k)
	})
}

// GrantsClosed implements [driver.Operator]. It meets no faults.
func (f *Faulty) GrantsClosed(ctx context.Context, k driver.Key) (*driver.GrantsClosedError, error) {
	return f.operator.GrantsClosed(ctx, k)
}

// Wanted implements [driver.Wanter]. It makes no request and so meets no faults. It answers false
// if the wrapped engine is no Wanter.
func (f *Faulty) Wanted(k driver.Key) bool {
	inner, ok := f.inner.(driver.Wanter)
	return ok && inner.Wanted(k)
}

// TrySet implements [driver.Latcher].
func (f *Faulty) TrySet(ctx context.Context, s driver.LatchSet) (bool, error) {
	inner, err := innerAs[driver.Latcher](f)
	if err != nil {
		return false, err
	}
	return through(ctx, f, f.fault(ctx, TrySet, latchKey(s.Name), s.ID), func(ctx context.Context) (bool, error) {
		return inner.TrySet(ctx, s)
	})
}

// CountDown implements [driver.Latcher].
func (f *Faulty) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	inner, err := innerAs[driver.Latcher](f)
	if err != nil {
		return driver.LatchState{}, err
	}
	return through(ctx, f, f.fault(ctx, CountDown, latchKey(d.Name), d.ID),
		func(ctx context.Context) (driver.LatchState, error) {
			return inner.CountDown(ctx, d)
		})
}

// LatchState implements [driver.Latcher].
func (f *Faulty) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	inner, err := innerAs[driver.Latcher](f)
	if err != nil {
		return driver.LatchState{}, err
	}
	return through(ctx, f, f.fault(ctx, LatchState, latchKey(name), ""),
		func(ctx context.Context) (driver.LatchState, error) {
			return inner.LatchState(ctx, name)
		})
}

// WaitLatch implements [driver.Latcher]. Like Wait, it ends with its ctx.
func (f *Faulty) WaitLatch(ctx context.Context, name string, generation uint64) error {
	inner, err := innerAs[driver.Latcher](f)
	if err != nil {
		return err
	}
	return f.do(ctx, f.fault(ctx, WaitLatch, latchKey(name), ""), func(context.Context) error {
		return inner.WaitLatch(ctx, name, generation)
	})
}

func latchKey(name string) driver.Key {
	return driver.Key{Kind: driver.Latch, Name: name}
}

// SetData implements [driver.DataKeeper].
func (f *Faulty) SetData(ctx context.Context, s driver.DataSet) error {
	inner, err := innerAs[driver.DataKeeper](f)
	if err != nil {
		return err
	}
	return f.do(ctx, f.fault(ctx, SetData, s.Hold.Key, s.Hold.Owner), func(ctx context.Context) error {
		return inner.SetData(ctx, s)
	})
}

// Data implements [driver.DataKeeper].
func (f *Faulty) Data(ctx context.Context, name string) (driver.Data, error) {
	inner, err := innerAs[driver.DataKeeper](f)
	if err != nil {
		return driver.Data{}, err
	}
	key := driver.Key{Kind: driver.Lock, Name: name}
	return through(ctx, f, f.fault(ctx, Data, key, ""), func(ctx context.Context) (driver.Data, error) {
		return inner.Data(ctx, name)
	})
}
