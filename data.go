package leasehold

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Data is what a holder has stored under the name of a lock with [Lease.SetData].
type Data struct {
	// Value is nil if nothing was stored, or what was stored has been removed.
	Value []byte
	// Token is the fencing token of the lease under which it was stored.
	Token uint64
}

// Data returns the data that is stored under the name of the mutex, whoever holds it, or the zero Data if there is
// none. The holder of the lock sees all that earlier holders have stored; for others it may be outdated at once.
//
// It returns ErrUnsupported on an engine that stores no data, ErrUnavailable, ErrInvalid, ErrClosed or an error of ctx.
func (m *Mutex) Data(ctx context.Context) (Data, error) {
	l := m.lock
	const op = "read the data of"
	keeper, ok := l.client.engine.(driver.DataKeeper)
	if l.err == nil && !ok {
		return Data{}, l.newError(op, ErrUnsupported, nil)
	}
	d, err := callRepeatedly(ctx, l, op, func(ctx context.Context) (driver.Data, error) {
		return keeper.Data(ctx, l.key.Name)
	})
	if err != nil || len(d.Value) == 0 {
		return Data{}, err
	}
	return Data{Value: d.Value, Token: d.Token}, nil
}

// SetData stores data under the name of a lock that is held exclusively, in place of what was stored before: at most
// 16 KiB. It outlives the lease, and anybody can read it with [Mutex.Data]. Empty data removes it. It is stored only if
// the engine still knows this lease as the holder at that moment, so a holder that was paused overwrites nothing.
//
// It returns ErrLost, ErrMaxHold, ErrReleased, ErrClosed, ErrUnsupported on an engine that stores no data or for a
// semaphore or a read lock, ErrInvalid, ErrUnavailable or an error of ctx. After the last two, and after ErrLost, it
// may be stored or not: the next holder sees which, and nothing changes any more after that.
func (l *Lease) SetData(ctx context.Context, value []byte) error {
	h := l.hold
	c := h.lock.client
	const op = "set the data of"
	keeper, ok := c.engine.(driver.DataKeeper)
	switch {
	case !ok || h.lock.key.Kind != driver.Lock:
		return h.lock.newError(op, ErrUnsupported, nil)
	case len(value) > driver.MaxDataSize:
		return newValueError("size of the data", len(value), "at most 16384 bytes")
	}
	d := driver.Data{Value: bytes.Clone(value), Token: l.token}
	number := func() error {
		if h.mode != driver.Exclusive {
			return ErrUnsupported
		}
		if d.Number == 0 { // it is not repeated
			h.dataSent++
			d.Number = h.dataSent
		}
		return nil
	}
	began := time.Now()
	for failures := 1; ; failures++ {
		err := l.sendFor(ctx, op, number, func(ctx context.Context, ref driver.Hold) error {
			err := keeper.SetData(ctx, driver.DataSet{Hold: ref, Data: d})
			if err == nil {
				h.noteDataConfirmed(d.Number)
			}
			return err
		})
		if !errors.Is(err, ErrUnavailable) || driver.IsPermanent(err) || ctx.Err() != nil ||
			time.Since(began) > c.requests.Timeout {
			return err
		}
		c.waitBeforeRetry(ctx, failures)
	}
}

// noteDataConfirmed notes that the engine has stored data. What was sent before it changes nothing any more.
func (h *hold) noteDataConfirmed(number uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dataConfirmed = max(h.dataConfirmed, number)
}

// hasUnconfirmedData reports whether the engine may yet store data that was sent under this hold. Then the hold must
// not go on to another caller: the engine knows both as the same owner, and would store it under the other's lease.
// hold.mu is held.
func (h *hold) hasUnconfirmedData() bool { return h.dataConfirmed < h.dataSent }
