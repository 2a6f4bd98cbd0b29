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

// world is one schedule: places that crash and freeze, and whose clocks jump; clients whose links to them have weather; workers who
// lock, pause and release; and a judge for each name who sees everything that is granted.
type world struct {
	seed    uint64
	began   time.Time
	ttl     time.Duration
	maxTTL  time.Duration
	timely  bool // no clock of a place is set forward: then exclusion is promised, too
	astray  bool // clocks of clients are wrong by any time; then no place may lose its data
	plant   plant
	places  []*place
	clients []*client
	judges  []*judge
	rule    *rule
	held    *heldBack

	mu     sync.Mutex
	log    []event
	wrong  []string
	counts counts
}

type event struct {
	at     time.Duration
	format string
	args   []any
}

// client is one program: a quorum over its links to all places, with or without the library on top.
type client struct {
	world  *world
	index  int
	engine *Engine
	core   *leasehold.Client // nil for one that uses the engine itself
	skies  []atomic.Int32

	mu     sync.Mutex
	owners map[string]int
}

func newWorld(seed uint64, planted fault) *world {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &world{
		seed: seed, began: time.Now(), plant: planted.plant,
		ttl:    []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second}[rng.IntN(3)],
		timely: rng.IntN(3) > 0,
	}
	w.rule, w.held = newRule(w.broken), newHeldBack()
	w.astray = !w.timely && rng.IntN(2) == 0
	w.maxTTL = w.ttl + time.Duration(rng.Int64N(int64(w.ttl)))
	n := 3
	if rng.IntN(3) == 0 {
		n = 5
	}
	for range n {
		off, rate := clockOf(rng)
		p := newPlace(off, rate, w.maxTTL)
		p.plant = planted.plant
		w.places = append(w.places, p)
	}
	for i := range 1 + rng.IntN(2) {
		w.judges = append(w.judges, newJudge(w, fmt.Sprint("lock ", i)))
	}
	least := w.ttl / 10
	timeout := least + time.Duration(rng.Int64N(int64(w.ttl))) // at times longer than a lease
	for i := range 3 {
		w.clients = append(w.clients, w.newClient(i, timeout, rng))
		if planted.engine != nil {
			planted.engine(w.clients[i].engine)
		}
	}
	return w
}

// clockOf is how the clock of a server goes: it is off by any time, and its rate is off by what drift allows for.
func clockOf(rng *rand.Rand) (off time.Duration, rate float64) {
	return time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour, 0.99 + 0.02*rng.Float64()
}

func (w *world) newClient(i int, timeout time.Duration, rng *rand.Rand) *client {
	c := &client{world: w, index: i, skies: make([]atomic.Int32, len(w.places)), owners: map[string]int{}}
	// Clocks differ by less than MaxTTL.
	skew := time.Duration(rng.Int64N(int64(w.maxTTL))) - w.maxTTL/2
	if w.astray {
		skew = noClock // counters alone decide
	}
	conf := Config{Name: "quorum", Timeout: timeout, MaxTTL: w.maxTTL, Closed: closedUntil}
	for p, to := range w.places {
		l := &link{place: to, skew: skew, rule: w.rule, name: fmt.Sprint("place ", p)}
		l.plan = func(ctx context.Context, method, owner string) fate { return c.fate(ctx, p, method, owner) }
		conf.Nodes = append(conf.Nodes, l)
		conf.Names = append(conf.Names, l.name)
	}
	c.engine = New(conf)
	c.engine.random = func(n int64) int64 { return w.chance("engine", i, 0, 0).Int64N(n) }
	if i < 2 {
		c.core = leasehold.New(&pausing{c.engine, c}, leasehold.WithDefaults(leasehold.TTL(w.ttl)), leasehold.WithRequestTimeout(w.ttl/3), leasehold.WithHolder(fmt.Sprint("client ", i)))
		random := reflect.ValueOf(c.core).Elem().FieldByName("random")
		*(*func(int64) int64)(random.Addr().UnsafePointer()) = func(n int64) int64 { return w.chance("core", i, 0, 0).Int64N(n) }
	}
	return c
}

// pausing is an engine whose client is stopped now and then when it has an answer.
type pausing struct {
	*Engine
	client *client
}

func (p *pausing) pause(owner string) {
	chance := p.client.world.chance("pause", p.client.number(owner), p.client.index, 0)
	if chance.IntN(20) == 0 && sky(p.client.skies[0].Load()) != clear {
		time.Sleep(time.Duration(chance.Int64N(int64(2 * p.client.world.ttl))))
	}
}

func (p *pausing) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.Engine.Take(context.WithValue(ctx, asked{}, true), r)
	p.pause(r.Owner)
	return g, err
}

func (p *pausing) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.Engine.Wait(ctx, r)
	p.pause(r.Owner)
	return g, err
}

// chance returns a source of chance that depends only on the seed, the moment and the occasion, and so not on the order in which
// goroutines run.
func (w *world) chance(what string, a, b, c int) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 1099511628211
	}
	for _, x := range [...]int{a, b, c} {
		h = mix(h ^ uint64(x))
	}
	return rand.New(rand.NewPCG(w.seed^h, uint64(time.Since(w.began))))
}

func (w *world) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, event{time.Since(w.began), format, args})
}

func (w *world) broken(format string, args ...any) {
	w.printf("BROKEN: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// story is all that has happened.
func (w *world) story() (lines []string) {
	for _, e := range w.log {
		lines = append(lines, fmt.Sprintf("%12.6fs  ", e.at.Seconds())+fmt.Sprintf(e.format, e.args...))
	}
	return lines
}

// run lets the workers work for a while, clears the sky, and looks at what is left.
func (w *world) run() {
	var all sync.WaitGroup
	for _, c := range w.clients {
		workers := 2
		if c.core == nil {
			workers = 1
		}
		for i := range workers {
			all.Go(func() { newWorker(c, i).work(3 - i) })
		}
	}
	for i := range 2 {
		all.Go(func() { w.storm(rand.New(rand.NewPCG(w.seed, uint64(1000+i)))) })
	}
	all.Wait()
	everywhere := make([]int, len(w.places))
	for i, p := range w.places {
		everywhere[i] = i
		p.thaw()
	}
	w.skies(len(w.clients), everywhere, clear)
	w.held.letGo()
	w.printf("clear sky")
	for _, p := range w.places {
		_ = p.open() // from now on it counts
	}
	for _, p := range w.places {
		time.Sleep(time.Until(p.settled()))
	}
	time.Sleep(3 * w.ttl) // requests that went astray take effect, and run out
	for range 12 {        // what has joined a queue so is served when its turn comes, one after the other
		if w.empty() {
			break
		}
		time.Sleep(w.ttl)
	}
	w.rest()
	for _, c := range w.clients {
		if c.core != nil {
			if err := c.core.Close(); err != nil {
				w.broken("close: %v", err)
			}
		}
		c.engine.Close()
	}
}

// empty reports whether nothing is left on any place.
func (w *world) empty() bool {
	for _, p := range w.places {
		if left, err := p.engine.List(context.Background(), driver.Query{Queue: true}); err != nil || len(left) > 0 {
			return false
		}
	}
	return true
}

// rest looks at what is left when all is well again: nothing, and everybody gets what they ask for.
func (w *world) rest() {
	for i, p := range w.places {
		if left, err := p.engine.List(context.Background(), driver.Query{Queue: true}); err != nil || len(left) > 0 {
			w.broken("left behind on place %d: %+v %v", i, left, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.ttl)
	defer cancel()
	for _, c := range w.clients {
		for _, j := range w.judges {
			if c.core == nil {
				continue
			}
			before := j.exposed()
			lease, err := c.core.Mutex(j.name).Lock(ctx)
			if err != nil {
				w.broken("client %d cannot get %s although all is well: %v", c.index, j.name, err)
				continue
			}
			j.enter("the last", lease.Token(), func() bool { return false }, before).leave()
			if err := lease.Release(); err != nil {
				w.broken("client %d cannot release although all is well: %v", c.index, err)
			}
		}
	}
}

func (p *pausing) Release(ctx context.Context, r driver.Release) error {
	return p.Engine.Release(context.WithValue(ctx, asked{}, true), r)
}

// worker is a goroutine of some program that uses locks.
type worker struct {
	*world
	name   string
	client *client
	rng    *rand.Rand
}

func newWorker(c *client, i int) *worker {
	return &worker{world: c.world, name: fmt.Sprintf("%d.%d", c.index, i), client: c, rng: rand.New(rand.NewPCG(c.world.seed, uint64(100*c.index+i+1)))}
}

// upTo returns a time below d.
func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

func (w *worker) work(times int) {
	for range times {
		time.Sleep(w.upTo(w.ttl / 2))
		j := w.judges[w.rng.IntN(len(w.judges))]
		if w.client.core != nil {
			w.lock(j)
		} else {
			w.take(j)
		}
	}
}

// lock uses the library.
func (w *worker) lock(j *judge) {
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
	before := j.exposed()
	var lease *leasehold.Lease
	var err error
	if m := w.client.core.Mutex(j.name, opts...); w.rng.IntN(3) == 0 {
		lease, err = m.TryLock(ctx)
	} else {
		lease, err = m.Lock(ctx)
	}
	if err != nil {
		w.printf("%s: no %s: %s", w.name, j.name, brief(err))
		w.refused(err)
		return
	}
	s := j.enter(w.name, lease.Token(), func() bool { return !time.Now().Before(lease.Deadline()) || lease.Context().Err() != nil }, before)
	switch w.rng.IntN(4) {
	case 0: // works for long, and pays attention
		select {
		case <-lease.Context().Done():
		case <-time.After(w.upTo(3 * w.ttl)):
		}
	case 1: // pauses
		time.Sleep(w.upTo(3 * w.ttl))
	default: // quick work
		time.Sleep(w.upTo(w.ttl / 20))
	}
	s.leave()
	err = lease.Release()
	w.printf("%s: released %s %d: %v", w.name, j.name, lease.Token(), err)
	switch {
	case err == nil:
		w.count(&w.counts.released)
	case errors.Is(err, leasehold.ErrLost):
		w.count(&w.counts.lost)
	case errors.Is(err, leasehold.ErrUnknown):
		w.count(&w.counts.unknown)
	default:
		w.broken("%s: not an answer that Release gives: %v", w.name, err)
	}
}

// brief is an error without its votes: those of places that fall silent at the same instant come in any order.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": place ")
	return text
}

func (w *worker) refused(err error) {
	switch {
	case errors.Is(err, leasehold.ErrHeld), errors.Is(err, driver.ErrHeld):
		w.count(&w.counts.held)
	case errors.Is(err, leasehold.ErrUnavailable):
		w.count(&w.counts.unavailable)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, leasehold.ErrTimeout):
		w.count(&w.counts.gaveUp)
	default:
		if v, ok := errors.AsType[*Error](err); ok && len(v.Votes) == len(w.places) || strings.Contains(err.Error(), "would be left") {
			w.count(&w.counts.unavailable)
			return
		}
		w.broken("%s: not an answer that a caller expects: %v", w.name, err)
	}
}

// take uses the engine itself, as a program would that looks at nothing but its clock.
func (w *worker) take(j *judge) {
	e := w.client.engine
	r := driver.Request{
		Key: driver.Key{Kind: driver.Lock, Name: j.name}, Owner: fmt.Sprint(w.name, " ", time.Since(w.began)), Size: 1, Weight: 1,
		TTL: w.ttl, Tokens: 1 + w.rng.IntN(2), Join: w.rng.IntN(2) == 0,
	}
	hold := driver.Hold{Key: r.Key, Owner: r.Owner}
	before := j.exposed()
	start := driver.Now()
	g, err := limited(w, "Take", func(ctx context.Context) (driver.Grant, error) { return e.Take(ctx, r) })
	if r.Join && errors.Is(err, driver.ErrHeld) {
		g, err = limited(w, "Wait", func(ctx context.Context) (driver.Grant, error) { return e.Wait(ctx, r) })
	}
	if err != nil {
		w.printf("%s: no %s: %s", w.name, j.name, brief(err))
		w.refused(err)
	} else {
		if !g.Start.IsZero() {
			start = g.Start
		}
		if left := validity(w.ttl) - driver.Now().Since(start); left < 0 {
			w.broken("%s: granted with %v left", w.name, left)
		}
		end := start.Add(validity(w.ttl))
		hold.Owner = cmp.Or(g.Owner, hold.Owner)
		s := j.enter(w.name, g.Token, func() bool { return driver.Now().Since(end) >= 0 }, before)
		time.Sleep(w.upTo(w.ttl / 2))
		for w.rng.IntN(2) == 0 {
			sent := driver.Now()
			_, err := limited(w, "Renew", func(ctx context.Context) (answer struct{}, err error) {
				err = context.Canceled
				e.Renew(ctx, []driver.Renewal{{Hold: hold, TTL: w.ttl}}, func(_ int, outcome error) { err = outcome })
				return answer, err
			})
			if err == nil && driver.Now().Since(end) < 0 {
				w.count(&w.counts.renewed)
				end := sent.Add(validity(w.ttl))
				s.judge.mu.Lock()
				s.over = func() bool { return driver.Now().Since(end) >= 0 }
				s.judge.mu.Unlock()
			}
			time.Sleep(w.upTo(w.ttl / 2))
		}
		s.leave()
	}
	for range 3 {
		_, err := limited(w, "Release", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, e.Release(ctx, driver.Release{Hold: hold})
		})
		if err == nil || driver.IsNo(err) {
			break
		}
		time.Sleep(w.upTo(w.ttl / 4))
	}
}

// limited makes a request that must end with its context.
func limited[T any](w *worker, what string, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), asked{}, true), w.ttl/8+w.upTo(3*w.ttl/2))
	defer cancel()
	value, err := f(ctx)
	if end, _ := ctx.Deadline(); time.Now().After(end) {
		w.broken("%s: %s overstays by %v", w.name, what, time.Since(end))
	}
	return value, err
}
