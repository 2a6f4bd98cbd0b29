package drivertest_test

import (
	"context"
	"strings"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// dataMutants store data in one wrong way each.
var dataMutants = []mutant{
	{"anybody may set data", "Data/OnlyTheHolderSetsData", carelessKeeper(func(*carelessEngine, driver.DataSet) bool {
		return true
	})},
	{"data is set after the lease", "Data/DataThatComesLateChangesNothing", carelessKeeper(
		func(e *carelessEngine, s driver.DataSet) bool { return e.everHeld[s.Hold.Owner] })},
	{"data ends with its lease", "Data/DataOutlivesItsLease", func(e *memory.Engine) driver.Engine {
		return keeperEngine{e, func(ctx context.Context, name string, d driver.Data) driver.Data {
			if free, err := e.List(ctx, driver.Query{Name: name}); err == nil && len(free) == 0 {
				return driver.Data{}
			}
			return d
		}, nil}
	}},
	{"older data replaces newer", "Data/OlderDataChangesNothing", setsData(func(s *driver.DataSet, n uint64) {
		s.Data.Token, s.Data.Number = s.Data.Token<<20|n, 1
	})},
	{"numbers of data are ignored", "Data/EmptyDataRemoves", setsData(func(s *driver.DataSet, n uint64) {
		s.Data.Number = n
	})},
	{"readers set data", "Data/ReadersSetNoData", carelessKeeper(func(e *carelessEngine, s driver.DataSet) bool {
		var held bool
		e.Renew(context.Background(), []driver.Renewal{{Hold: s.Hold}}, func(_ int, err error) { held = err == nil })
		return held
	})},
	{"data is text", "Data/AnyBytesAreData", func(e *memory.Engine) driver.Engine {
		return keeperEngine{e, func(_ context.Context, _ string, d driver.Data) driver.Data {
			d.Value = []byte(strings.ToValidUTF8(string(d.Value), "?"))
			return d
		}, nil}
	}},
	{"the token of data is lost", "Data/DataOutlivesItsLease", func(e *memory.Engine) driver.Engine {
		return keeperEngine{e, func(_ context.Context, _ string, d driver.Data) driver.Data {
			d.Token = 1
			return d
		}, nil}
	}},
}

// keeperEngine changes data on the way to and from an engine.
type keeperEngine struct {
	*memory.Engine
	read func(context.Context, string, driver.Data) driver.Data
	set  func(*driver.DataSet)
}

func (k keeperEngine) SetData(ctx context.Context, s driver.DataSet) error {
	if k.set != nil {
		k.set(&s)
	}
	return k.Engine.SetData(ctx, s)
}

func (k keeperEngine) Data(ctx context.Context, name string) (driver.Data, error) {
	d, err := k.Engine.Data(ctx, name)
	if err == nil && k.read != nil {
		d = k.read(ctx, name, d)
	}
	return d, err
}

// setsData changes what is set. n counts the calls.
func setsData(change func(s *driver.DataSet, n uint64)) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine {
		var mu sync.Mutex
		var n uint64
		return keeperEngine{e, nil, func(s *driver.DataSet) {
			mu.Lock()
			defer mu.Unlock()
			n++
			change(s, n)
		}}
	}
}

// carelessEngine has a rule of its own for who may set data.
type carelessEngine struct {
	*memory.Engine
	may func(*carelessEngine, driver.DataSet) bool

	mu       sync.Mutex
	data     map[string]driver.Data
	everHeld map[string]bool
}

func carelessKeeper(may func(*carelessEngine, driver.DataSet) bool) func(*memory.Engine) driver.Engine {
	return func(e *memory.Engine) driver.Engine {
		return &carelessEngine{Engine: e, may: may, data: map[string]driver.Data{}, everHeld: map[string]bool{}}
	}
}

func (e *carelessEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := e.Engine.Take(ctx, r)
	if err == nil {
		e.mu.Lock()
		e.everHeld[r.Owner] = true
		e.mu.Unlock()
	}
	return g, err
}

func (e *carelessEngine) SetData(_ context.Context, s driver.DataSet) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.may(e, s) {
		return driver.ErrNotHeld
	}
	replaces, err := s.Data.Replaces(e.data[s.Hold.Name])
	if replaces {
		e.data[s.Hold.Name] = s.Data
	}
	return err
}

func (e *carelessEngine) Data(_ context.Context, name string) (driver.Data, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.data[name]; len(d.Value) > 0 {
		return d, nil
	}
	return driver.Data{}, nil
}
