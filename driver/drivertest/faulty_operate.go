package drivertest

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Operator = (*Faulty)(nil)

// Walk implements [driver.Operator]. Like all methods here, it meets no faults: no hold depends on it.
func (f *Faulty) Walk(ctx context.Context, q driver.Query, visit func([]driver.Status) bool) error {
	return f.operator.Walk(ctx, q, visit)
}

// Leaks implements [driver.Operator].
func (f *Faulty) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	return f.operator.Leaks(ctx, q, visit)
}

// Sweep implements [driver.Operator].
func (f *Faulty) Sweep(ctx context.Context, l driver.Leak) error { return f.operator.Sweep(ctx, l) }

// Record implements [driver.Operator].
func (f *Faulty) Record(ctx context.Context, r driver.Removal) error {
	return f.operator.Record(ctx, r)
}

// Records implements [driver.Operator].
func (f *Faulty) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return f.operator.Records(ctx, limit)
}

// Examine implements [driver.Operator].
func (f *Faulty) Examine(ctx context.Context) (driver.Examination, error) {
	return f.operator.Examine(ctx)
}
