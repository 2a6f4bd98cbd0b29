package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// Growth is what turns cost as something grows.
type Growth struct {
	Name   string  `json:"name"`
	About  string  `json:"about"`
	Axis   string  `json:"axis"` // what grows
	Points []Point `json:"points"`
	Failed string  `json:"failed,omitempty"`
	// LeftOut says from which size on nothing could be measured on this machine.
	LeftOut string `json:"left_out,omitempty"`
}

// Point is what turns cost at one size.
type Point struct {
	At    int         `json:"at"`
	Turns stat.Number `json:"turns_per_s"`
	// Server is the processor time of the server for a turn, in µs, less what it uses without turns.
	Server stat.Number `json:"server_us"`
	// Script is the mean duration of a script, in µs.
	Script stat.Number `json:"script_us"`
	// Long is the share of scripts that took over a millisecond, in percent.
	Long stat.Number `json:"long_percent"`
	// Longest is the duration of the longest command, in ms.
	Longest stat.Number `json:"longest_ms"`
	// Unanswered counts calls that the server did not answer in time, mostly when all begin at once. They are repeated.
	Unanswered int `json:"unanswered"`
}

// errNotReady means that the machine is too small for a size.
var errNotReady = errors.New("not all had begun")

// readyLimit is how long it may take until all have begun.
const readyLimit = 2 * time.Minute

// MaxLong is the share of scripts that may take over a millisecond at any size, in percent: on a machine that runs
// other programs, too, even the shortest script may be interrupted.
const MaxLong = 0.1

// Short reports whether too many scripts took long at this size.
func (p Point) Short() bool { return float64(p.Long) > MaxLong }

// turnTakers take turns at one size.
type turnTakers struct {
	workers int
	turn    func(ctx context.Context, worker int) error
	// ready waits, once the workers have been started, until turns can be measured. Nil waits until each has had one.
	ready func(ctx context.Context) error
	// noise: without turns the server is busy, too.
	noise bool
	close func() error
}

// growthKind is something that grows.
type growthKind struct {
	name, about, axis string
	sizes             []int
	open              func(ctx context.Context, e Env, size int) (*turnTakers, error)
}

// Grow measures all that grows, and that is selected.
func (r *Runner) Grow(ctx context.Context, largest int, d time.Duration) (all []Growth, err error) {
	at, err := r.Pool.Get(ctx, servers.OneRedis)
	if err != nil {
		return nil, err
	}
	redis, ok := at.(*servers.Redis)
	if !ok {
		return nil, errors.New("growth is measured on one Redis server")
	}
	for _, k := range growthKinds {
		if r.Only != nil && !r.Only.MatchString(k.name) || r.Skip != nil && r.Skip.MatchString(k.name) {
			continue
		}
		g := Growth{Name: k.name, About: k.about, Axis: k.axis}
		for _, size := range k.sizes {
			if size > largest {
				continue
			}
			r.Log("%s: %d", k.name, size)
			p, err := r.point(ctx, redis, k, size, d)
			if errors.Is(err, errNotReady) {
				g.LeftOut = fmt.Sprintf("%d and more %s: %v", size, k.axis, err)
				r.Log("left out: %s", g.LeftOut)
				break
			}
			if err != nil {
				g.Failed = fmt.Sprintf("%s at %d: %v", k.name, size, err)
				r.Log("failed: %s", g.Failed)
				break
			}
			g.Points = append(g.Points, p)
		}
		all = append(all, g)
		if err := errors.Join(ctx.Err(), r.Pool.RemoveKeys(ctx, r.Mark)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// point measures turns at one size, for about the time d.
func (r *Runner) point(ctx context.Context, at *servers.Redis, k growthKind, size int, d time.Duration) (
	p Point, err error,
) {
	e := Env{Backend: at, Patience: r.Patience, Mark: fmt.Sprintf("%s:%s:%d:", r.Mark, k.name, size), Log: r.Log}
	c, err := k.open(ctx, e, size)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var idle usage
	if c.noise {
		if idle, err = measure(ctx, at, func() error { return pause(ctx, d) }); err != nil {
			return p, err
		}
	}
	var turns, begun, unanswered atomic.Int64
	hadOne := make([]bool, c.workers) // each is its worker's own
	all := startWorkers(ctx, c.workers, func(ctx context.Context, i int) error {
		switch err := c.turn(ctx, i); {
		case errors.Is(err, leasehold.ErrUnavailable): // too many have come at once
			unanswered.Add(1)
			return pause(ctx, rand.N(time.Second))
		case err != nil:
			return err
		}
		turns.Add(1)
		if !hadOne[i] {
			hadOne[i] = true
			begun.Add(1)
		}
		return nil
	})
	defer func() {
		_, stopped := all.stop(0)
		err = cmp.Or(stopped, err) // the workers' error is why all ends
	}()
	ready := c.ready
	if ready == nil {
		ready = func(ctx context.Context) (err error) {
			for err == nil && int(begun.Load()) < c.workers {
				err = pause(ctx, d/20)
			}
			return err
		}
	}
	waiting, cancel := context.WithTimeout(all.ctx, readyLimit)
	defer cancel()
	if err := ready(waiting); err != nil {
		if all.ctx.Err() == nil && waiting.Err() != nil {
			return p, fmt.Errorf("%w in %v: %w", errNotReady, readyLimit, err)
		}
		return p, err
	}
	var u usage
	var n int
	scripts, err := at.Scripts(all.ctx, func() (err error) {
		before := turns.Load()
		u, err = measure(all.ctx, at, func() error { return pause(all.ctx, d) })
		n = int(turns.Load() - before)
		return err
	})
	if err != nil {
		return p, err
	}
	server := float64(u.server)
	if c.noise {
		server -= float64(idle.server) * float64(u.time) / float64(idle.time)
	}
	number := func(v float64) stat.Number { return stat.Number(v) }
	return Point{At: size, Turns: number(perSecond(n, u.time)), Server: number(server / microsecond / float64(n)),
		Script: number(float64(scripts.Mean) / microsecond), Long: number(100 * scripts.Long),
		Longest: number(float64(scripts.Longest) / millisecond), Unanswered: int(unanswered.Load())}, nil
}
