package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// simulation is one schedule: nodes that crash and freeze, and whose clocks jump; clients whose links to them
// are faulty; workers that lock, pause and release; and a checker for each name that sees all grants.
type simulation struct {
	seed              uint64
	began             time.Time
	ttl               time.Duration
	maxTTL            time.Duration
	noClockAdvances   bool // no clock of a node is set forward: then exclusion is promised, too
	crowded           bool // many clients want one name, and are quick, so that it is passed from one to the next
	wrongClientClocks bool // clocks of clients are wrong by any time; then no node may lose its data
	faults            nodeFaults
	nodes             []*simNode
	clients           []*client
	checkers          []*checker
	rule              *ownerRule
	heldRequests      *heldRequests

	mu         sync.Mutex
	log        []event
	violations []string
	counts     counts
}

type event struct {
	since  time.Duration
	format string
	args   []any
}

// client is one program: a quorum over its links to all nodes, with or without the library on top.
type client struct {
	simulation *simulation
	index      int
	engine     *Engine
	core       *leasehold.Client // nil if the client uses the engine itself
	links      []atomic.Int32

	mu     sync.Mutex
	owners map[string]int
}

func newSimulation(seed uint64, planted fault) *simulation {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := &simulation{
		seed: seed, began: time.Now(), faults: planted.nodes,
		ttl:             []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second}[rng.IntN(3)],
		noClockAdvances: rng.IntN(3) > 0,
	}
	s.rule, s.heldRequests = newOwnerRule(s.violated), newHeldRequests()
	s.wrongClientClocks = !s.noClockAdvances && rng.IntN(2) == 0
	s.maxTTL = s.ttl + time.Duration(rng.Int64N(int64(s.ttl)))
	n := 3
	if rng.IntN(3) == 0 {
		n = 5
	}
	for range n {
		off, rate := randomClock(rng)
		p := newSimNode(off, rate, s.maxTTL)
		p.faults = planted.nodes
		s.nodes = append(s.nodes, p)
	}
	s.crowded = rng.IntN(4) == 0
	names, clients := 1+rng.IntN(2), 3
	if s.crowded {
		names, clients = 1, 8
	}
	for i := range names {
		s.checkers = append(s.checkers, newChecker(s, fmt.Sprint("lock ", i)))
	}
	least := s.ttl / 10
	timeout := least + time.Duration(rng.Int64N(int64(s.ttl))) // at times longer than a lease
	for i := range clients {
		s.clients = append(s.clients, s.newClient(i, i < clients-1, timeout, rng))
		if planted.engine != nil {
			planted.engine(s.clients[i].engine)
		}
	}
	return s
}

// randomClock returns how the clock of a server runs: it is off by any time, and its rate is off by what
// drift allows for.
func randomClock(rng *rand.Rand) (off time.Duration, rate float64) {
	return time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour, 0.99 + 0.02*rng.Float64()
}

func (s *simulation) newClient(i int, usesCore bool, timeout time.Duration, rng *rand.Rand) *client {
	c := &client{simulation: s, index: i, links: make([]atomic.Int32, len(s.nodes)), owners: map[string]int{}}
	// Clocks differ by less than MaxTTL.
	skew := time.Duration(rng.Int64N(int64(s.maxTTL))) - s.maxTTL/2
	if s.wrongClientClocks {
		skew = noClockSkew // counters alone decide
	}
	conf := Config{Name: "quorum", Timeout: timeout, MaxTTL: s.maxTTL, Closed: closedUntil}
	for p, to := range s.nodes {
		l := &faultyNode{node: to, skew: skew, rule: s.rule, name: fmt.Sprint("node ", p)}
		l.plan = func(ctx context.Context, method, owner string) delivery {
			return c.planDelivery(ctx, p, method, owner)
		}
		l.notePassed = func() { s.count(&s.counts.passed) }
		conf.Nodes = append(conf.Nodes, l)
		conf.Names = append(conf.Names, l.name)
	}
	c.engine = New(conf)
	c.engine.random = func(n int64) int64 { return s.random("engine", i, 0, 0).Int64N(n) }
	if usesCore {
		c.core = leasehold.New(&pausingEngine{c.engine, c}, leasehold.WithDefaults(leasehold.TTL(s.ttl)),
			leasehold.WithRequestTimeout(s.ttl/3), leasehold.WithHolder(fmt.Sprint("client ", i)))
		random := reflect.ValueOf(c.core).Elem().FieldByName("random")
		*(*func(int64) int64)(random.Addr().UnsafePointer()) = func(n int64) int64 {
			return s.random("core", i, 0, 0).Int64N(n)
		}
	}
	return c
}

// pausingEngine is an engine whose client sometimes pauses after an answer.
type pausingEngine struct {
	*Engine
	client *client
}

func (p *pausingEngine) pause(owner string) {
	chance := p.client.simulation.random("pause", p.client.ownerNumber(owner), p.client.index, 0)
	if chance.IntN(20) == 0 && linkState(p.client.links[0].Load()) != faultless {
		time.Sleep(time.Duration(chance.Int64N(int64(2 * p.client.simulation.ttl))))
	}
}

func (p *pausingEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.Engine.Take(context.WithValue(ctx, callerAsked{}, true), r)
	p.pause(r.Owner)
	return g, err
}

func (p *pausingEngine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.Engine.Wait(ctx, r)
	p.pause(r.Owner)
	return g, err
}

// random returns a random source that depends only on the seed, the moment and the occasion, and so not on
// the order in which goroutines run.
func (s *simulation) random(what string, a, b, c int) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 1099511628211
	}
	for _, x := range [...]int{a, b, c} {
		h = mixBits(h ^ uint64(x))
	}
	return rand.New(rand.NewPCG(s.seed^h, uint64(time.Since(s.began))))
}

func (s *simulation) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, event{time.Since(s.began), format, args})
}

func (s *simulation) violated(format string, args ...any) {
	s.printf("BROKEN: "+format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

func (s *simulation) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// transcript is all that has happened.
func (s *simulation) transcript() (lines []string) {
	for _, e := range s.log {
		lines = append(lines, fmt.Sprintf("%12.6fs  ", e.since.Seconds())+fmt.Sprintf(e.format, e.args...))
	}
	return lines
}

// run lets the workers work for a while, ends all faults, and checks what is left.
func (s *simulation) run() {
	var all sync.WaitGroup
	for _, c := range s.clients {
		workers := 2
		if c.core == nil || s.crowded {
			workers = 1
		}
		for i := range workers {
			times := 3 - i
			if s.crowded {
				times = 6
			}
			all.Go(func() { newWorker(c, i).work(times) })
		}
	}
	for i := range 2 {
		all.Go(func() { s.injectFaults(rand.New(rand.NewPCG(s.seed, uint64(1000+i)))) })
	}
	all.Wait()
	everywhere := make([]int, len(s.nodes))
	for i, p := range s.nodes {
		everywhere[i] = i
		p.thaw()
	}
	s.setLinks(len(s.clients), everywhere, faultless)
	s.heldRequests.releaseAll()
	s.printf("no more faults")
	for _, p := range s.nodes {
		_ = p.checkOpen() // from now on the time until it grants counts
	}
	for _, p := range s.nodes {
		time.Sleep(time.Until(p.opensAt()))
	}
	time.Sleep(3 * s.ttl) // late requests take effect, and what they took expires
	for range 12 {        // late waiters are served one after the other
		if s.isEmpty() {
			break
		}
		time.Sleep(s.ttl)
	}
	s.checkRest()
	for _, c := range s.clients {
		if c.core != nil {
			if err := c.core.Close(); err != nil {
				s.violated("close: %v", err)
			}
		}
		c.engine.Close()
	}
}

// isEmpty reports whether nothing is left on any node.
func (s *simulation) isEmpty() bool {
	for _, p := range s.nodes {
		if left, err := p.engine.List(context.Background(), driver.Query{Queue: true}); err != nil || len(left) > 0 {
			return false
		}
	}
	return true
}

// checkRest checks what is left when all faults are over: nothing, and all clients get the locks that they ask for.
func (s *simulation) checkRest() {
	for i, p := range s.nodes {
		if left, err := p.engine.List(context.Background(), driver.Query{Queue: true}); err != nil || len(left) > 0 {
			s.violated("left behind on node %d: %+v %v", i, left, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.ttl)
	defer cancel()
	for _, c := range s.clients {
		for _, ch := range s.checkers {
			if c.core == nil {
				continue
			}
			before := ch.highestSeen()
			lease, err := c.core.Mutex(ch.name).Lock(ctx)
			if err != nil {
				s.violated("client %d cannot get %s although all faults are over: %v", c.index, ch.name, err)
				continue
			}
			ch.enter("the last", lease.Token(), func() bool { return false }, before).leave()
			if err := lease.Release(); err != nil {
				s.violated("client %d cannot release although all faults are over: %v", c.index, err)
			}
		}
	}
}

func (p *pausingEngine) Release(ctx context.Context, r driver.Release) error {
	return p.Engine.Release(context.WithValue(ctx, callerAsked{}, true), r)
}

// worker is a goroutine of some program that uses locks.
type worker struct {
	*simulation
	name   string
	client *client
	rng    *rand.Rand
}

func newWorker(c *client, i int) *worker {
	return &worker{
		simulation: c.simulation,
		name:       fmt.Sprintf("%d.%d", c.index, i),
		client:     c,
		rng:        rand.New(rand.NewPCG(c.simulation.seed, uint64(100*c.index+i+1))),
	}
}

// upTo returns a random time below d.
func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

func (w *worker) work(times int) {
	for range times {
		if !w.crowded {
			time.Sleep(w.upTo(w.ttl / 2))
		}
		ch := w.checkers[w.rng.IntN(len(w.checkers))]
		if w.client.core != nil {
			w.lock(ch)
		} else {
			w.take(ch)
		}
	}
}

// lock uses the library.
func (w *worker) lock(ch *checker) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limit := w.ttl/3 + w.upTo(2*w.ttl)
	var opts []leasehold.Option
	if w.rng.IntN(2) == 0 {
		opts = append(opts, leasehold.WaitLimit(limit))
	} else {
		defer time.AfterFunc(limit, cancel).Stop()
	}
	if w.rng.IntN(6) == 0 {
		opts = append(opts, leasehold.NoRenew())
	}
	before := ch.highestSeen()
	var lease *leasehold.Lease
	var err error
	if m := w.client.core.Mutex(ch.name, opts...); w.rng.IntN(3) == 0 {
		lease, err = m.TryLock(ctx)
	} else {
		lease, err = m.Lock(ctx)
	}
	if err != nil {
		w.printf("%s: no %s: %s", w.name, ch.name, withoutVotes(err))
		w.refused(err)
		return
	}
	s := ch.enter(w.name, lease.Token(),
		func() bool { return !time.Now().Before(lease.Deadline()) || lease.Context().Err() != nil }, before)
	kinds := 4
	if w.crowded {
		kinds = 16
	}
	switch w.rng.IntN(kinds) {
	case 0: // works for long, and heeds the end of the lease
		select {
		case <-lease.Context().Done():
		case <-time.After(w.upTo(3 * w.ttl)):
		}
	case 1: // pauses
		time.Sleep(w.upTo(3 * w.ttl))
	default: // works quickly
		time.Sleep(w.upTo(w.ttl / 20))
	}
	s.leave()
	err = lease.Release()
	w.printf("%s: released %s %d: %v", w.name, ch.name, lease.Token(), err)
	switch {
	case err == nil:
		w.count(&w.counts.released)
	case errors.Is(err, leasehold.ErrLost):
		w.count(&w.counts.lost)
	case errors.Is(err, leasehold.ErrUnknown):
		w.count(&w.counts.unknown)
	default:
		w.violated("%s: not an answer that Release gives: %v", w.name, err)
	}
}

// withoutVotes is the text of an error without its votes: nodes that fall silent at the same instant come in any order.
func withoutVotes(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": node ")
	return text
}

func (w *worker) refused(err error) {
	switch {
	case errors.Is(err, leasehold.ErrHeld), errors.Is(err, driver.ErrHeld):
		w.count(&w.counts.held)
	case errors.Is(err, leasehold.ErrUnavailable):
		w.count(&w.counts.unavailable)
	case errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, leasehold.ErrTimeout):
		w.count(&w.counts.gaveUp)
	default:
		v, ok := errors.AsType[*Error](err)
		if ok && len(v.Votes) == len(w.nodes) || strings.Contains(err.Error(), "would be left") {
			w.count(&w.counts.unavailable)
			return
		}
		w.violated("%s: not an answer that a caller expects: %v", w.name, err)
	}
}

// take uses the engine itself, like a program that looks at nothing but its clock.
func (w *worker) take(ch *checker) {
	e := w.client.engine
	r := driver.Request{
		Key:   driver.Key{Kind: driver.Lock, Name: ch.name},
		Owner: fmt.Sprint(w.name, " ", time.Since(w.began)), Size: 1, Weight: 1, TTL: w.ttl,
		Tokens: 1 + w.rng.IntN(2), Join: w.rng.IntN(2) == 0,
	}
	hold := driver.Hold{Key: r.Key, Owner: r.Owner}
	before := ch.highestSeen()
	start := driver.Now()
	g, err := withLimit(w, "Take", func(ctx context.Context) (driver.Grant, error) { return e.Take(ctx, r) })
	if r.Join && errors.Is(err, driver.ErrHeld) {
		g, err = withLimit(w, "Wait", func(ctx context.Context) (driver.Grant, error) { return e.Wait(ctx, r) })
	}
	if err != nil {
		w.printf("%s: no %s: %s", w.name, ch.name, withoutVotes(err))
		w.refused(err)
	} else {
		if !g.Start.IsZero() {
			start = g.Start
		}
		if left := validity(cmp.Or(g.TTL, w.ttl)) - driver.Now().Since(start); left < 0 {
			w.violated("%s: granted with %v left", w.name, left)
		}
		end := start.Add(validity(cmp.Or(g.TTL, w.ttl)))
		hold.Owner = cmp.Or(g.Owner, hold.Owner)
		s := ch.enter(w.name, g.Token, func() bool { return driver.Now().Since(end) >= 0 }, before)
		time.Sleep(w.upTo(w.ttl / 2))
		for w.rng.IntN(2) == 0 {
			sent := driver.Now()
			_, err := withLimit(w, "Renew", func(ctx context.Context) (answer struct{}, err error) {
				err = context.Canceled
				e.Renew(ctx, []driver.Renewal{{Hold: hold, TTL: w.ttl}}, func(_ int, outcome error) { err = outcome })
				return answer, err
			})
			if err == nil && driver.Now().Since(end) < 0 {
				w.count(&w.counts.renewed)
				end := sent.Add(validity(w.ttl))
				s.checker.mu.Lock()
				s.hasEnded = func() bool { return driver.Now().Since(end) >= 0 }
				s.checker.mu.Unlock()
			}
			time.Sleep(w.upTo(w.ttl / 2))
		}
		s.leave()
	}
	for range 3 {
		_, err := withLimit(w, "Release", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, e.Release(ctx, driver.Release{Hold: hold})
		})
		if err == nil || driver.IsNo(err) {
			break
		}
		time.Sleep(w.upTo(w.ttl / 4))
	}
}

// withLimit makes a request that must end with its context.
func withLimit[T any](w *worker, what string, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), callerAsked{}, true),
		w.ttl/8+w.upTo(3*w.ttl/2))
	defer cancel()
	value, err := f(ctx)
	if end, _ := ctx.Deadline(); time.Now().After(end) {
		w.violated("%s: %s ends %v after its deadline", w.name, what, time.Since(end))
	}
	return value, err
}
