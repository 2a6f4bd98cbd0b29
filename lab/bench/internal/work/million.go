package work

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/lab/bench/internal/busy"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

const (
	millionTakers = 256
	// busyLoops is how many processes contend for the processors, and leasesPerLoop how many leases there must be for
	// each, so that small runs start few.
	busyLoops, leasesPerLoop = 16, 1000
	// probePause is how long another client waits between two tries to get one of the names.
	probePause = 2 * time.Millisecond
	// fullRate is the part of all leases that must have been renewed within a third of their ttl.
	fullRate = 0.95
)

// Million lists the workload with a million leases, which takes ten minutes.
var Million = []Workload{{
	Name: "million",
	About: "one process holds 1,000,000 leases and renews them, at first alone, and then beside 16 busy processes " +
		"while another client tries to get the names",
	Libraries: []lib.Library{lib.Leasehold},
	Full:      Plan{Rounds: 1, Round: 5 * time.Minute, Size: 1_000_000, TTL: 30 * time.Second},
	Short:     Plan{Rounds: 1, Round: 5 * time.Second, Size: 20_000, TTL: 3 * time.Second},
	Main:      takeRate, Base: "leasehold",
	Open: openMillion,
}}

var millionTargets = []Target{
	{Workload: "million", Claim: "leases taken/s", Bound: atLeast(60_000), Absolute: true,
		Value: figure("leasehold", takeRate)},
	{Workload: "million", Claim: "leases lost while nothing else runs", Bound: atMost(0), Absolute: true, Worst: true,
		Value: figure("leasehold", leasesLost)},
	{Workload: "million", Claim: "client: % of one core", Bound: atMost(20), Absolute: true,
		Value: figure("leasehold", millionClient)},
	{Workload: "million", Claim: "server: % of one core", Bound: atMost(30), Absolute: true,
		Value: figure("leasehold", millionServer)},
	{Workload: "million", Claim: "busy: names granted to another client while they were held", Bound: atMost(0),
		Absolute: true, Worst: true, Value: figure("leasehold", busyOverlaps)},
	// From the deadline on a holder must not rely on its lease; the engine keeps it for the drift more.
	{Workload: "million", Claim: "busy: latest loss told after the deadline, to the drift", Bound: atMost(1),
		Worst: true, Value: figure("leasehold", toldLate)},
	{Workload: "million", Claim: "busy: time until all are renewed again, to the ttl", Bound: atMost(1), Worst: true,
		Value: figure("leasehold", recovery)},
}

// millionBench holds many leases in one client, which tells of each that is lost and of each renewal.
type millionBench struct {
	env     Env
	session lib.Session
	other   lib.Trier
	client  *leasehold.Client
	prefix  string

	renewed, lost atomic.Int64
	deferred      atomic.Int64 // takes that were refused because renewals were late
	leases        []*leasehold.Lease
	told          []atomic.Int64 // when the loss of each lease was told, as time.Time.UnixMicro
}

func openMillion(e Env) (*Bench, error) {
	m := &millionBench{env: e, prefix: e.Mark + "million:", told: make([]atomic.Int64, e.Plan.Size)}
	observed := e.LibConfig()
	observed.Observer = m
	var err error
	if m.session, err = e.Library.Open(observed); err != nil {
		return nil, err
	}
	other, err := e.Library.Open(e.LibConfig())
	if err != nil {
		return nil, errors.Join(err, m.session.Close())
	}
	m.client, m.other = m.session.(interface{ Client() *leasehold.Client }).Client(), other.(lib.Trier)
	return &Bench{Round: m.round, Close: func() error { return errors.Join(m.session.Close(), other.Close()) }}, nil
}

// ObserveRenew counts renewals that were confirmed.
func (m *millionBench) ObserveRenew(r leasehold.Renewed) {
	if r.Err == nil {
		m.renewed.Add(1)
	}
}

// ObserveLost notes when a loss is told.
func (m *millionBench) ObserveLost(l leasehold.Lost) {
	m.lost.Add(1)
	if i, err := strconv.Atoi(strings.TrimPrefix(l.Name, m.prefix)); err == nil {
		m.told[i].Store(time.Now().UnixMicro())
	}
}

func (m *millionBench) round(ctx context.Context, _ string, d time.Duration) (_ Sample, err error) {
	heap, stacks := memory()
	before, err := m.env.Backend.Load(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	defer func() { err = cmp.Or(err, m.releaseAll()) }()
	if err := m.take(ctx); err != nil {
		return nil, err
	}
	taking := time.Since(began)
	fullHeap, fullStacks := memory()
	after, err := m.env.Backend.Load(ctx)
	if err != nil {
		return nil, err
	}
	alone, err := measure(ctx, m.env.Backend, func() error { return pause(ctx, d) })
	if err != nil {
		return nil, err
	}
	lost := m.lost.Load()
	client, server := alone.share()
	crowded, err := m.besideLoops(ctx, max(d/5, 2*m.env.Plan.TTL))
	if err != nil {
		return nil, err
	}
	n := float64(m.env.Plan.Size)
	return append(Sample{
		{takeRate, "/s", n / taking.Seconds()},
		{"takes refused, as renewals were late", "", float64(m.deferred.Load())},
		{leasesLost, "", float64(lost)},
		{millionClient, "%", client},
		{millionServer, "%", server},
		{leaseMemory, "B", (fullHeap + fullStacks - heap - stacks) / n},
		{"memory of the server per lease", "B", float64(after.Memory-before.Memory) / n},
	}, crowded...), nil
}

// take takes all leases. While renewals are late, the client refuses takes after a while, and they are repeated.
func (m *millionBench) take(ctx context.Context) error {
	m.leases = make([]*leasehold.Lease, m.env.Plan.Size)
	for i := range m.told {
		m.told[i].Store(0)
	}
	m.lost.Store(0)
	m.deferred.Store(0)
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	options := leasehold.TTL(m.env.Plan.TTL)
	leaseCtx := context.WithoutCancel(ctx) // the leases must not keep the context of the group, which ends
	for range millionTakers {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(m.leases)) && gctx.Err() == nil; i = next.Add(1) - 1 {
				var err error
				mutex := m.client.Mutex(m.prefix+strconv.FormatInt(i, 10), options)
				for m.leases[i], err = mutex.Lock(leaseCtx); errors.Is(err, leasehold.ErrUnavailable); {
					m.deferred.Add(1)
					if err := gctx.Err(); err != nil {
						return err
					}
					m.leases[i], err = mutex.Lock(leaseCtx)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// releaseAll releases what is still held.
func (m *millionBench) releaseAll() error {
	var next atomic.Int64
	g := &errgroup.Group{}
	for range millionTakers {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(m.leases)); i = next.Add(1) - 1 {
				if l := m.leases[i]; l != nil {
					if err := l.Release(); err != nil && !errors.Is(err, leasehold.ErrLost) {
						return err
					}
				}
			}
			return nil
		})
	}
	defer func() { m.leases = nil }()
	return g.Wait()
}

// besideLoops lets busy processes run for d. Meanwhile another client tries to get names, and then the time counts
// until all leases are renewed again that are left.
func (m *millionBench) besideLoops(ctx context.Context, d time.Duration) (Sample, error) {
	ttl, lostBefore := m.env.Plan.TTL, m.lost.Load()
	loops, err := busy.Start(min(busyLoops, 1+m.env.Plan.Size/leasesPerLoop))
	if err != nil {
		return nil, err
	}
	probing, stop := context.WithCancel(ctx)
	defer stop()
	var p probes
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(probing, probePause) == nil {
			m.probe(probing, &p)
		}
	}()
	paused := pause(ctx, d)
	if err := cmp.Or(loops.Stop(), paused); err != nil {
		return nil, err
	}
	ended, lost := time.Now(), m.lost.Load()-lostBefore
	back, err := m.awaitFullRate(ctx, ended, 2*ttl)
	stop()
	<-done
	if err != nil {
		return nil, err
	}
	if p.granted > 0 && lost == 0 {
		m.env.Log("another client was granted %d names, though no loss was told", p.granted)
	}
	drift := float64(ttl)/100 + 2*millisecond
	return Sample{
		{"busy: leases lost", "", float64(lost)},
		{toldLate, "", float64(m.latestTold()) / drift},
		{"busy: tries of another client", "", float64(p.asked)},
		{"busy: of these, granted", "", float64(p.granted)},
		{"busy: of these, without an answer", "", float64(p.failed)},
		{busyOverlaps, "", float64(p.overlaps)},
		{recovery, "", back},
		{"after it: leases lost", "", float64(m.lost.Load() - lostBefore - lost)},
	}, nil
}

// probes counts the tries of another client.
type probes struct{ asked, granted, failed, overlaps int }

// probe tries to get the name of one of the leases. If it is granted, its holder must no longer believe to hold it.
func (m *millionBench) probe(ctx context.Context, p *probes) {
	i := rand.N(len(m.leases))
	held, granted, err := m.other.TryLock(ctx, m.prefix+strconv.Itoa(i))
	p.asked++
	switch {
	case err != nil:
		p.failed++
	case granted:
		p.granted++
		if m.leases[i].Err() == nil || held.Token <= m.leases[i].Token() {
			p.overlaps++
		}
		if held.Release() != nil {
			p.failed++ // the lease of the probe ends by itself
		}
	}
}

// awaitFullRate returns how many times the ttl it takes until as many leases are renewed within a third of their ttl as
// are left, or almost, or infinity if that is not so at the limit.
func (m *millionBench) awaitFullRate(ctx context.Context, since time.Time, limit time.Duration) (float64, error) {
	const looks = 20 // in a window
	type look struct {
		at    time.Duration
		count int64
	}
	var all []look
	for window := m.env.Plan.TTL / 3; time.Since(since) < limit; {
		now := look{time.Since(since), m.renewed.Load()}
		all = append(all, now)
		if n := len(all) - 1; n >= looks {
			first := all[n-looks]
			windows := float64(now.at-first.at) / float64(window)
			left := float64(int64(m.env.Plan.Size) - m.lost.Load())
			if float64(now.count-first.count) >= fullRate*left*windows {
				return float64(now.at) / float64(m.env.Plan.TTL), nil
			}
		}
		if err := pause(ctx, window/looks); err != nil {
			return 0, err
		}
	}
	return math.Inf(1), nil
}

// latestTold returns how long after its deadline a loss was told at the latest; 0 if all were told before.
func (m *millionBench) latestTold() (late time.Duration) {
	for i := range m.told {
		if at := m.told[i].Load(); at > 0 {
			late = max(late, time.UnixMicro(at).Sub(m.leases[i].Deadline()))
		}
	}
	return late
}
