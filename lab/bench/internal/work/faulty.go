package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// faultLimit is how long one lock, and then its release, may take while a node is faulty. Longer
// ones are given up, and count with this time.
const faultLimit = time.Second

// faultSettles is how long a library locks and releases, before anything is counted, to get over an
// earlier fault: connections have to be opened again, and requests reach the node late.
const faultSettles = 50 * time.Millisecond

// openStopped prepares a workload in which one goroutine locks and releases a free name on five
// nodes: first all nodes are healthy, then the process of one is stopped.
func openStopped(e Env) (*Bench, error) {
	return openFaulty(e, (*servers.Nodes).Addrs, (*servers.Nodes).Stopped)
}

// openBlackholed is openStopped, but bytes to and from one node are lost.
func openBlackholed(e Env) (*Bench, error) {
	return openFaulty(e, (*servers.Nodes).AddrsByProxy, (*servers.Nodes).Blackholed)
}

func openFaulty(e Env, addrs func(*servers.Nodes) []string, fault func(*servers.Nodes) servers.Fault) (*Bench, error) {
	nodes, ok := e.Backend.(*servers.Nodes)
	if !ok {
		return nil, fmt.Errorf("%s does not work on nodes of which one can fail", e.Library.Name)
	}
	at := e.LibConfig()
	at.Addrs = addrs(nodes)
	session, err := e.Library.Open(at)
	if err != nil {
		return nil, err
	}
	f := &faulty{fault: fault(nodes), session: session, name: e.Mark + "faulty:"}
	return &Bench{Round: f.round, Close: session.Close}, nil
}

type faulty struct {
	fault   servers.Fault
	session lib.Session
	name    string
}

func (f *faulty) round(ctx context.Context, label string, d time.Duration) (_ Sample, err error) {
	if _, err := f.run(ctx, f.name+label+":settle", faultSettles); err != nil {
		return nil, err
	}
	well, err := f.run(ctx, f.name+label+":well", d)
	if err != nil {
		return nil, err
	}
	if err := f.fault.Break(); err != nil {
		return nil, errors.Join(err, f.fault.Fix())
	}
	ill, err := f.run(ctx, f.name+label+":ill", d)
	if err := errors.Join(err, f.fault.Fix()); err != nil {
		return nil, err
	}
	p50, p99 := stat.Percentile(ill.took, 0.50), stat.Percentile(ill.took, 0.99)
	wellP50, wellP99 := stat.Percentile(well.took, 0.50), stat.Percentile(well.took, 0.99)
	return Sample{
		{pairsAtFault, "/s", perSecond(len(ill.took)-ill.gaveUp, ill.time)},
		{"p50", "µs", float64(p50) / microsecond},
		{"p99", "µs", float64(p99) / microsecond},
		{"longest", "µs", float64(stat.Percentile(ill.took, 1)) / microsecond},
		{"given up, of all", "%", 100 * float64(ill.gaveUp) / float64(len(ill.took))},
		{"p50 while all were well", "µs", float64(wellP50) / microsecond},
		{"p99 while all were well", "µs", float64(wellP99) / microsecond},
		{p50ToWell, "", float64(p50) / float64(wellP50)},
		{p99ToWell, "", float64(p99) / float64(wellP99)},
	}, nil
}

// faultPhase is what was measured for some time.
type faultPhase struct {
	time   time.Duration
	took   []time.Duration // of each pair of lock and release
	gaveUp int
}

// run locks and releases for the time d, and at least once. After giving up it continues with
// another name, as the outcome for the one before is unknown.
func (f *faulty) run(ctx context.Context, name string, d time.Duration) (s faultPhase, err error) {
	token := uint64(0)
	for began := time.Now(); s.time < d; s.time = time.Since(began) {
		asked := time.Now()
		gaveUp, err := f.pair(ctx, fmt.Sprintf("%s:%d", name, s.gaveUp), &token)
		if err != nil {
			return s, err
		}
		s.took = append(s.took, time.Since(asked))
		if gaveUp {
			s.gaveUp++
			token = 0
		}
	}
	return s, nil
}

func (f *faulty) pair(ctx context.Context, name string, token *uint64) (gaveUp bool, _ error) {
	limited, cancel := context.WithTimeout(ctx, faultLimit)
	defer cancel()
	err := pair(limited, f.session, name, token)
	if limited.Err() != nil && ctx.Err() == nil {
		return true, nil // with or without an error: some libraries stop waiting then, and have a majority
	}
	return false, err
}
