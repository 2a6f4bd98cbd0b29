package memory

import (
	"bytes"
	"context"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// dataByName holds what was stored under the names of locks.
type dataByName struct {
	mu     sync.Mutex
	byName map[string]driver.Data
}

// SetData implements [driver.DataKeeper].
func (e *Engine) SetData(ctx context.Context, set driver.DataSet) error {
	if err := ctx.Err(); err != nil {
		return driver.NoEffect(err)
	}
	s := e.shard(set.Hold.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, h := e.findHoldLocked(s, &set.Hold, e.now())
	if h == nil || h.mode != driver.Exclusive {
		return driver.ErrNotHeld
	}
	return e.data.set(set.Hold.Name, set.Data)
}

// Data implements [driver.DataKeeper].
func (e *Engine) Data(ctx context.Context, name string) (driver.Data, error) {
	if err := ctx.Err(); err != nil {
		return driver.Data{}, err
	}
	e.data.mu.Lock()
	defer e.data.mu.Unlock()
	d := e.data.byName[name]
	if len(d.Value) == 0 {
		return driver.Data{}, nil
	}
	d.Value = bytes.Clone(d.Value)
	return d, nil
}

func (b *dataByName) set(name string, d driver.Data) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if replaces, err := d.Replaces(b.byName[name]); !replaces {
		return err
	}
	if b.byName == nil {
		b.byName = make(map[string]driver.Data)
	}
	d.Value = bytes.Clone(d.Value)
	b.byName[name] = d
	return nil
}
