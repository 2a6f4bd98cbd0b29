package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// memoryNode is a node in memory, where nothing can be left behind.
type memoryNode struct{ *memory.Engine }

func (memoryNode) Leaks(context.Context, driver.Query, func(driver.Leak) bool) error { return nil }

func (memoryNode) Sweep(context.Context, driver.Leak) error { return driver.ErrNotHeld }
