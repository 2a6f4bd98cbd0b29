package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Opener = (*Engine)(nil)

// OpenNow implements [driver.Opener].
func (e *Engine) OpenNow(ctx context.Context, by string) (opened []string, err error) {
	open, errs := make([]bool, len(e.members)), make([]error, len(e.members))
	var work sync.WaitGroup
	for i, m := range e.members {
		work.Go(func() { open[i], errs[i] = m.openNow(ctx, by) })
	}
	work.Wait()
	for i, m := range e.members {
		if open[i] {
			opened = append(opened, m.name)
		}
	}
	return opened, errors.Join(errs...)
}

// openNow opens a server that may vote, and reports whether it did: it does not without the guard.
func (m *member) openNow(ctx context.Context, by string) (bool, error) {
	if err := m.join(ctx); err != nil {
		return false, fmt.Errorf("%s: %w", m.name, err)
	}
	opened, err := m.Engine.OpenNow(ctx, by)
	if err != nil {
		return false, fmt.Errorf("%s: %w", m.name, err)
	}
	return len(opened) > 0, nil
}
