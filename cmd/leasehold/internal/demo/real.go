package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/real"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// ErrMissing means that there is no redis-server to play on.
var ErrMissing = real.ErrMissing

// Real plays cases on Redis servers that it starts, and ends before it returns, also when ctx ends. Both sides of a case, and different cases, are
// played at the same time where they do not disturb each other. The seed decides how long clients work, and what else is left to
// chance is so.
func Real(ctx context.Context, list []cases.Case, seed uint64) (figures []draw.Figure, err error) {
	house, err := real.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, house.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the others are not needed once one has failed

	recorded := make([][2]tape.Recording, len(list))
	var failed error
	var once sync.Once
	play := func(i, side int) {
		protected := side == 1
		for try := range harmlessTries {
			name := fmt.Sprintf("demo %s, %s, %d", list[i].Letter, []string{"without", "with"}[side], try)
			r, err := house.Play(ctx, list[i].Setup(protected), name, func(w stage.World) {
				list[i].Play(w, protected, rand.New(rand.NewPCG(seed, 2)))
			})
			recorded[i][side] = r
			if err != nil {
				once.Do(func() { failed = err }) // the others only fail because they are called off
				cancel()
			}
			if err != nil || protected || !r.Good() {
				return
			}
		}
	}
	var together sync.WaitGroup
	for i, c := range list {
		if !c.Restarts() {
			for side := range recorded[i] {
				together.Go(func() { play(i, side) })
			}
		}
	}
	together.Wait()
	for i, c := range list {
		if c.Restarts() {
			play(i, 1) // first, as servers that were restarted have to be waited for
			play(i, 0)
		}
	}
	for i, c := range list {
		figures = append(figures, figure(c, recorded[i][0], recorded[i][1]))
	}
	return figures, failed
}

// harmlessTries is how often a side without leasehold is played until something is lost. On a busy machine things may not go wrong at the
// right moments. The side with leasehold is played once.
const harmlessTries = 3
