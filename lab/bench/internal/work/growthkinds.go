package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// growthKinds lists all that grows.
var growthKinds = []growthKind{
	{
		name:  "growth-clients",
		about: "clients with connections of their own want one name again and again, and release it at once",
		axis:  "clients", sizes: []int{1, 10, 100, 1000}, open: growClients,
	},
	{
		name: "growth-names",
		about: "8 clients with connections of their own, with 8 goroutines each, want random ones of many names, and " +
			"release them at once",
		axis: "names", sizes: []int{1, 10, 100, 1000, 10_000, 100_000}, open: growNames,
	},
	{
		name: "growth-held",
		about: "8 clients with connections of their own lock and release free names while another one holds leases " +
			"and renews them",
		axis: "leases held", sizes: []int{1, 1000, 10_000, 100_000, 1_000_000}, open: growHeld,
	},
	{
		name: "growth-waiters",
		about: "clients that share the connections of eight want one name again and again, and release it at once: " +
			"all others wait",
		axis: "waiters", sizes: []int{1, 10, 100, 1000, 10_000, 100_000}, open: growWaiters,
	},
}

// arrivalPause is the time from one waiter's arrival to the next one's. A waiter asks a few times at first. If a
// hundred thousand came at once, the server would not answer in time.
const arrivalPause = 400 * time.Microsecond

// shared is a name that many want. Its checker watches it.
type shared struct {
	name    string
	checker *checker.Checker
}

func newShared(name string) *shared { return &shared{name, checker.New()} }

// turn is one turn of a worker with the name.
func (s *shared) turn(worker int, lock func(name string) (lib.Held, error)) error {
	held, err := lock(s.name)
	if err != nil {
		return err
	}
	who := uint64(worker + 1)
	s.checker.Enter(who, held.Token)
	s.checker.Leave(who)
	return errors.Join(held.Release(), s.checker.Err())
}

func growClients(_ context.Context, e Env, size int) (*turnTakers, error) {
	all, err := openLeaseholds(e, size)
	if err != nil {
		return nil, err
	}
	name := newShared(e.Mark + "one")
	return &turnTakers{workers: size, close: all.close, turn: func(ctx context.Context, i int) error {
		return name.turn(i, func(name string) (lib.Held, error) { return all[i].Lock(ctx, name) })
	}}, nil
}

// openLeaseholds opens clients of leasehold.
func openLeaseholds(e Env, n int) (sessions, error) {
	e.Library = lib.Leasehold
	return openSessions(e, n)
}

func growNames(_ context.Context, e Env, size int) (*turnTakers, error) {
	all, err := openLeaseholds(e, turnClients)
	if err != nil {
		return nil, err
	}
	names := make([]*shared, size)
	for i := range names {
		names[i] = newShared(fmt.Sprintf("%s%d", e.Mark, i))
	}
	return &turnTakers{workers: 8 * turnClients, close: all.close, turn: func(ctx context.Context, i int) error {
		return names[rand.N(size)].turn(i, func(name string) (lib.Held, error) {
			return all[i%turnClients].Lock(ctx, name)
		})
	}}, nil
}

func growHeld(ctx context.Context, e Env, size int) (*turnTakers, error) {
	all, err := openLeaseholds(e, turnClients+1)
	if err != nil {
		return nil, err
	}
	e.Plan.Size = size
	keeper := &leaseHolder{env: e, session: patient{all[turnClients]}}
	held, err := keeper.take(ctx, "growth")
	if err != nil {
		return nil, errors.Join(err, all.close())
	}
	tokens := make([]uint64, turnClients)
	turn := func(ctx context.Context, i int) error {
		return pair(ctx, all[i], fmt.Sprintf("%s%d", e.Mark, i), &tokens[i])
	}
	return &turnTakers{workers: turnClients, turn: turn, noise: true, close: func() error {
		lost, first := release(held)
		if lost > 0 {
			first = fmt.Errorf("%d of %d leases were lost; the first says: %w", lost, size, first)
		}
		return errors.Join(first, all.close())
	}}, nil
}

// patient is a session that repeats takes that are refused while renewals are late.
type patient struct{ lib.Session }

func (p patient) Lock(ctx context.Context, name string) (held lib.Held, err error) {
	for held, err = p.Session.Lock(ctx, name); errors.Is(err, leasehold.ErrUnavailable); {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return held, err
		}
		held, err = p.Session.Lock(ctx, name)
	}
	return held, err
}

// growWaiters lets so many wait that as many are in the queue while one of them has its turn.
func growWaiters(ctx context.Context, e Env, size int) (*turnTakers, error) {
	const engines = 8
	var crowds []*lib.Crowd
	end := func() error {
		var errs []error
		for _, c := range crowds {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for range engines {
		c, err := lib.OpenCrowd(e.LibConfig(), size/engines+2)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		crowds = append(crowds, c)
	}
	name := newShared(e.Mark + "one")
	lock := func(ctx context.Context, i int) (lib.Held, error) {
		return crowds[i%engines].Lock(ctx, i/engines, name.name)
	}
	first, err := lock(ctx, size+engines)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	came := make([]bool, size+1) // each is its worker's own
	return &turnTakers{workers: size + 1, close: end,
		turn: func(ctx context.Context, i int) error {
			if !came[i] {
				came[i] = true
				if err := pause(ctx, time.Duration(i)*arrivalPause); err != nil {
					return err
				}
			}
			return name.turn(i, func(string) (lib.Held, error) { return lock(ctx, i) })
		},
		ready: func(ctx context.Context) error {
			for {
				n, err := crowds[0].Waiting(ctx, name.name)
				if err != nil && !errors.Is(err, leasehold.ErrUnavailable) {
					return errors.Join(err, first.Release())
				}
				if n > size {
					return errors.Join(first.Release(), pause(ctx, time.Second/10))
				}
				if err := pause(ctx, 20*time.Millisecond+time.Duration(size)*time.Microsecond); err != nil {
					return errors.Join(err, first.Release())
				}
			}
		},
	}, nil
}
