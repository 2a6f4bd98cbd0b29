package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
)

// openLanguages prepares contention of clients in several languages for one name. Each language measures its own turns;
// a register is told of all holds.
func openLanguages(e Env) (*Bench, error) {
	l := &crowd{env: e}
	for i := range e.Plan.Size {
		open := e.Library.Open
		if e.Library.Beside != nil && i%2 == 1 {
			open = e.Library.Beside
		}
		s, err := open(e.LibConfig())
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.sessions = append(l.sessions, s)
	}
	return &Bench{Round: l.round, Close: l.close}, nil
}

type crowd struct {
	env      Env
	sessions []lib.Session
}

func (c *crowd) close() error {
	var errs []error
	for _, s := range c.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// outcome is what one client did.
type outcome struct {
	java     bool
	turns    []javaside.Turn
	finished bool
	err      error
}

func (c *crowd) round(ctx context.Context, label string, d time.Duration) (Sample, error) {
	r := register.New()
	at, err := r.Serve()
	if err != nil {
		return nil, err
	}
	defer at.Close()
	name := c.env.Mark + "crowd:" + strings.ReplaceAll(label, " ", "-") // the register separates words by spaces
	// They go on for a little longer than they are counted.
	spec := lib.Turns{For: settle + d + settle/5, Hold: heldFor, Register: at.Addr()}
	ended, cancel := context.WithTimeout(ctx, spec.For+patience)
	defer cancel()
	outcomes := make([]outcome, len(c.sessions))
	var all sync.WaitGroup
	for i, s := range c.sessions {
		all.Go(func() {
			o := &outcomes[i]
			var java lib.Turner
			if java, o.java = s.(lib.Turner); o.java {
				o.turns, o.finished, o.err = java.Turns(ended, name, spec)
			} else {
				o.turns, o.finished, o.err = takeTurns(ended, s, register.Hold{Name: name, Who: fmt.Sprint("go", i),
					Mode: register.Exclusive, Weight: 1}, r, spec)
			}
		})
	}
	var from time.Time
	err = pause(ctx, settle)
	u, failed := measure(ctx, c.env.Backend, func() error {
		from = time.Now()
		return pause(ctx, d)
	})
	all.Wait()
	err = errors.Join(err, failed)
	for _, overlap := range r.Overlaps() {
		err = errors.Join(err, errors.New("exclusion is violated: "+overlap))
	}
	for _, o := range outcomes {
		err = errors.Join(err, o.err)
	}
	if err != nil {
		return nil, err
	}
	return sampleOfCrowd(outcomes, from, u), nil
}

// takeTurns is [lib.Turner.Turns] for other sessions.
func takeTurns(
	ctx context.Context, s lib.Session, h register.Hold, r *register.Register, t lib.Turns,
) (all []javaside.Turn, finished bool, _ error) {
	for began, last := time.Now(), time.Now(); last.Sub(began) < t.For; {
		held, err := s.Lock(ctx, h.Name)
		if err != nil && ctx.Err() != nil {
			return all, false, nil
		} else if err != nil {
			return nil, false, err
		}
		granted := time.Now()
		h.Token = int64(held.Token)
		err = r.Enter(h)
		spin(t.Hold)
		if err := errors.Join(err, r.Leave(h.Name, h.Who), held.Release()); err != nil {
			return nil, false, err
		}
		now := time.Now()
		all = append(all, javaside.Turn{Granted: granted, Waited: granted.Sub(last), Took: now.Sub(last)})
		last = now
	}
	return all, true, nil
}

// sampleOfCrowd returns the figures of the turns that were granted in the time u.time after from.
func sampleOfCrowd(outcomes []outcome, from time.Time, u usage) Sample {
	var (
		waits, java, golang []time.Duration
		each                []int
		left                int
	)
	for _, o := range outcomes {
		n := 0
		for _, t := range o.turns {
			if after := t.Granted.Sub(from); after < 0 || after >= u.time {
				continue
			}
			n++
			waits = append(waits, t.Waited)
			if o.java {
				java = append(java, t.Waited)
			} else {
				golang = append(golang, t.Waited)
			}
		}
		each = append(each, n)
		if !o.finished {
			left++
		}
	}
	n := len(waits)
	_, server := u.each(n)
	most, fewest, unfair := stat.Fairness(each)
	ms := func(of []time.Duration, p float64) float64 {
		if len(of) == 0 {
			return math.NaN()
		}
		return float64(stat.Percentile(of, p)) / millisecond
	}
	return Sample{
		{handOvers, "/s", perSecond(n, u.time)},
		{turnServerTime, "µs", server},
		{serverCommands, "", u.commands / float64(n)},
		{shareOfJava, "%", 100 * float64(len(java)) / float64(n)},
		{languages, "", evenness(outcomes, len(java), len(golang))},
		{"most turns", "", float64(most)},
		{"fewest turns", "", float64(fewest)},
		{unfairness, "", unfair},
		{WaitP50, "ms", ms(waits, 0.5)},
		{WaitP90, "ms", ms(waits, 0.9)},
		{WaitP99, "ms", ms(waits, 0.99)},
		{WaitLongest, "ms", ms(waits, 1)},
		{"wait p99 in Java", "ms", ms(java, 0.99)},
		{"wait p99 in Go", "ms", ms(golang, 0.99)},
		{leftWaiting, "", float64(left)},
	}
}

// evenness is the ratio of the turns of two languages, the smaller one first. It is NaN if there is only one language.
func evenness(outcomes []outcome, java, golang int) float64 {
	inJava := 0
	for _, o := range outcomes {
		if o.java {
			inJava++
		}
	}
	if inJava == 0 || inJava == len(outcomes) {
		return math.NaN()
	}
	return float64(min(java, golang)) / float64(max(java, golang))
}
