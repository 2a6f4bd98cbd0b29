package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// OpenNow makes all servers that can be reached grant at once, as [redis.Engine.OpenNow] does for one.
func (e *Engine) OpenNow(ctx context.Context, by string) (opened []string, err error) {
	open, errs := make([]bool, len(e.nodes)), make([]error, len(e.nodes))
	var work sync.WaitGroup
	for i, n := range e.nodes {
		work.Go(func() { open[i], errs[i] = n.openNow(ctx, by) })
	}
	work.Wait()
	for i, n := range e.nodes {
		if open[i] {
			opened = append(opened, n.name)
		}
	}
	return opened, errors.Join(errs...)
}

// openNow opens a server that may vote. It reports false if there is nothing to open, as without the guard.
func (n *node) openNow(ctx context.Context, by string) (bool, error) {
	if err := n.initAndJoinList(ctx); err != nil {
		return false, fmt.Errorf("%s: %w", n.name, err)
	}
	opened, err := n.Engine.OpenNow(ctx, by)
	if err != nil {
		return false, fmt.Errorf("%s: %w", n.name, err)
	}
	return len(opened) > 0, nil
}
