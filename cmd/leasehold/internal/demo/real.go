//go:build !no_redis && !no_servers

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
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// ErrMissing means that there is no redis-server on this machine.
var ErrMissing = real.ErrMissing

// RunOnServers runs cases on Redis servers that it starts. It ends them before it returns, also when ctx ends. Both
// sides of a case and different cases run at the same time where they do not disturb each other. The seed determines
// how long clients work; the rest is up to the machine.
func RunOnServers(ctx context.Context, list []cases.Case, seed uint64) (figures []draw.Figure, err error) {
	servers, err := real.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // once one has failed, the others are not needed

	recorded := make([][2]timeline.Timeline, len(list))
	var failed error
	var once sync.Once
	run := func(i, side int) {
		protected := side == 1
		for try := range maxHarmlessTries {
			name := fmt.Sprintf("demo %s, %s, %d", list[i].Letter, []string{"without", "with"}[side], try)
			r, err := servers.Run(ctx, list[i].Setup(protected), name, func(w scenario.Environment) {
				list[i].Start(w, protected, rand.New(rand.NewPCG(seed, 2)))
			})
			recorded[i][side] = r
			if err != nil {
				once.Do(func() { failed = err }) // the others only fail because they are aborted
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
				together.Go(func() { run(i, side) })
			}
		}
	}
	together.Wait()
	for i, c := range list {
		if c.Restarts() {
			run(i, 1) // first, since restarted servers make it wait
			run(i, 0)
		}
	}
	for i, c := range list {
		figures = append(figures, newFigure(c, recorded[i][0], recorded[i][1]))
	}
	return figures, failed
}

// maxHarmlessTries is how often the side without leasehold is run until something is lost. On a busy machine things may
// not go wrong at the right moments. The side with leasehold is run once.
const maxHarmlessTries = 3
