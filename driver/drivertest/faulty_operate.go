package drivertest

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Operators' requests meet no faults: no hold depends on them.
var (
	_ driver.Walker   = (*Faulty)(nil)
	_ driver.Sweeper  = (*Faulty)(nil)
	_ driver.Recorder = (*Faulty)(nil)
	_ driver.Examiner = (*Faulty)(nil)
)

// Walk implements [driver.Walker].
func (f *Faulty) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	inner, err := innerAs[driver.Walker](f)
	if err != nil {
		return err
	}
	return inner.Walk(ctx, q, visit)
}

// Leaks implements [driver.Sweeper].
func (f *Faulty) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	inner, err := innerAs[driver.Sweeper](f)
	if err != nil {
		return err
	}
	return inner.Leaks(ctx, q, visit)
}

// Sweep implements [driver.Sweeper].
func (f *Faulty) Sweep(ctx context.Context, l driver.Leak) error {
	inner, err := innerAs[driver.Sweeper](f)
	if err != nil {
		return err
	}
	return inner.Sweep(ctx, l)
}

// Record implements [driver.Recorder].
func (f *Faulty) Record(ctx context.Context, r driver.Removal) error {
	inner, err := innerAs[driver.Recorder](f)
	if err != nil {
		return err
	}
	return inner.Record(ctx, r)
}

// Records implements [driver.Recorder].
func (f *Faulty) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	inner, err := innerAs[driver.Recorder](f)
	if err != nil {
		return nil, err
	}
	return inner.Records(ctx, limit)
}

// Examine implements [driver.Examiner].
func (f *Faulty) Examine(ctx context.Context) (driver.Examination, error) {
	inner, err := innerAs[driver.Examiner](f)
	if err != nil {
		return driver.Examination{}, err
	}
	return inner.Examine(ctx)
}
