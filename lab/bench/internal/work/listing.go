package work

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

const (
	// firstPage is the number of locks in the first page of a listing.
	firstPage = 1000
	// listings is how often a round lists. A server that loses the processor in the middle of a
	// command seems to take long for it. The command's own time is needed each time, so the listing
	// with the shortest maximum counts.
	listings = 3
)

// openListing prepares a workload in which one process holds many leases, and a second client lists
// them, as the command does: one page, and all.
func openListing(e Env) (*Bench, error) {
	server, ok := e.Backend.(*servers.Redis)
	if !ok {
		return nil, fmt.Errorf("a %T has no slow log", e.Backend)
	}
	session, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, err
	}
	other, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	lister, ok := other.(lib.Lister)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s lists nothing", e.Library.Name), session.Close(), other.Close())
	}
	l := &listing{leaseHolder: leaseHolder{env: e, session: session}, server: server, lister: lister}
	return &Bench{Round: l.round, Close: func() error {
		_, _ = release(l.held) // leases that were lost are part of the figures
		return errors.Join(session.Close(), other.Close())
	}}, nil
}

type listing struct {
	leaseHolder
	server *servers.Redis
	lister lib.Lister
	held   []lib.Held // from the first round on
}

func (l *listing) round(ctx context.Context, label string, _ time.Duration) (Sample, error) {
	if l.held == nil {
		held, err := l.take(ctx, label)
		if err != nil {
			return nil, err
		}
		l.held = held
	}
	var page, all, most time.Duration
	least := time.Duration(math.MaxInt64)
	for range listings {
		longest, err := l.server.Longest(ctx, func() error {
			took, err := listed(min(firstPage, len(l.held)),
				func() (int, error) { return l.lister.Page(ctx, firstPage) })
			if page = max(page, took); err != nil {
				return err
			}
			took, err = listed(len(l.held), func() (int, error) { return l.lister.All(ctx) })
			all = max(all, took)
			return err
		})
		if err != nil {
			return nil, err
		}
		least, most = min(least, longest), max(most, longest)
	}
	return Sample{
		{listPage, "ms", float64(page) / millisecond},
		{listAll, "ms", float64(all) / millisecond},
		{longestCommand, "ms", float64(least) / millisecond},
		{"the same, in the listing where it was longest", "ms", float64(most) / millisecond},
	}, nil
}

// listed returns how long a listing took. It must show as many locks as wanted.
func listed(want int, list func() (int, error)) (time.Duration, error) {
	began := time.Now()
	n, err := list()
	took := time.Since(began)
	if err == nil && n != want {
		err = fmt.Errorf("%d locks are listed, and %d are held", n, want)
	}
	return took, err
}
