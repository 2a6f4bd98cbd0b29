package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// memoryNode is a node in memory, where nothing can be left behind.
type memoryNode struct{ *memory.Engine }

func (memoryNode) Leaks(context.Context, driver.Query, func(driver.Leak) bool) error { return nil }

func (memoryNode) Sweep(context.Context, driver.Leak) error { return driver.ErrNotHeld }

func (n memoryNode) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	done(n.TakeFrom(ctx, r))
}

func (n memoryNode) StartRelease(ctx context.Context, r driver.Release, done func(error)) {
	done(n.Release(ctx, r))
}

func newMemoryNode() memoryNode { return memoryNode{memory.New()} }
