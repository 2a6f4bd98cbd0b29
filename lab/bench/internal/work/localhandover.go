package work

import (
	"context"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// localHandOver is one name that goes around among goroutines of one process, none of which keeps
// it.
type localHandOver struct {
	session       lib.Session
	name          string
	checker       *checker.Checker
	turns, others atomic.Int64 // all turns, and those that did not go to the same goroutine again
}

// turn is one turn of a goroutine.
func (p *localHandOver) turn(ctx context.Context, i int) error {
	held, err := p.session.Lock(ctx, p.name)
	if err != nil {
		return err
	}
	who := uint64(i + 1)
	p.turns.Add(1)
	if p.checker.Enter(who, held.Token).HandOver {
		p.others.Add(1)
	}
	p.checker.Leave(who)
	return held.Release()
}

// toAnother returns the share of turns that did not go to the same goroutine again, in percent.
func (p *localHandOver) toAnother() float64 {
	return 100 * float64(p.others.Load()) / float64(p.turns.Load())
}
