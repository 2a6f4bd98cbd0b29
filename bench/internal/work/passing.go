package work

import (
	"context"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/bench/internal/judge"
	"github.com/leasehold-go/leasehold/bench/internal/lib"
)

// passing is one name that goes around among goroutines of one process, none of which keeps it.
type passing struct {
	session       lib.Session
	name          string
	judge         *judge.Judge
	turns, others atomic.Int64 // all, and those that did not go to the same goroutine again
}

// turn is one turn of a goroutine.
func (p *passing) turn(ctx context.Context, i int) error {
	held, err := p.session.Lock(ctx, p.name)
	if err != nil {
		return err
	}
	who := uint64(i + 1)
	p.turns.Add(1)
	if p.judge.Enter(who, held.Token).HandOver {
		p.others.Add(1)
	}
	p.judge.Leave(who)
	return held.Release()
}

// toAnother is how many of the turns did not go to the same goroutine again, in percent.
func (p *passing) toAnother() float64 {
	return 100 * float64(p.others.Load()) / float64(p.turns.Load())
}
