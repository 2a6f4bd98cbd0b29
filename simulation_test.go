package leasehold

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// simulation is one schedule: an engine, clients with faulty networks, programs that lock and release, and a checker
// for each name that is told of every grant.
type simulation struct {
	t        *testing.T
	seed     uint64
	began    time.Time
	ttl      time.Duration
	engine   *delayingEngine
	clients  []*Client
	networks []*faultyNetwork
	balance  eventBalance

	mu       sync.Mutex
	log      []string
	counts   counts
	checkers map[driver.Key]*checker
}

// What the programs lock.
const (
	locks         = 2
	semaphoreSize = 3
)

func newSimulation(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &simulation{
		t: t, seed: seed, began: time.Now(), checkers: map[driver.Key]*checker{},
		ttl: []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second}[rng.IntN(3)],
	}
	// The rate of the engine's clock is up to 1 % off: drift allows for that.
	w.engine = newDelayingEngine(memory.New(memory.WithClock(driftingClock{w.began, 0.99 + 0.02*rng.Float64()})))
	for i := range 2 + rng.IntN(2) {
		net := newFaultyNetwork(w, i)
		net.Faulty = drivertest.NewFaulty(w.engine, net.fault)
		c := New(net, WithDefaults(TTL(w.ttl)), WithRequestTimeout(w.ttl/3), WithHolder(fmt.Sprint("client ", i)),
			WithObserver(w, &w.balance))
		c.random = func(n int64) int64 { return w.chance("jitter", i).Int64N(n) }
		w.networks = append(w.networks, net)
		w.clients = append(w.clients, c)
	}
	return w
}

// chance returns a source of random numbers that depends only on the seed, the moment and the occasion, and so not on
// the order in which goroutines run.
func (w *simulation) chance(occasion ...any) *rand.Rand {
	h := fnv(fmt.Sprint(occasion...))
	return rand.New(rand.NewPCG(w.seed^h, uint64(time.Since(w.began))))
}

func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// driftingClock has another rate than the clients' clock.
type driftingClock struct {
	start time.Time
	rate  float64
}

func (c driftingClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.rate))
}

func (c driftingClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Duration(float64(d)/c.rate)+1, f).Stop
}

func (w *simulation) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%12.6fs  ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *simulation) errorf(format string, args ...any) {
	w.t.Helper()
	w.printf("BROKEN: "+format, args...)
	w.t.Errorf(format, args...)
}

// run lets the programs work for a while, ends the faults, and checks what is left.
func (w *simulation) run() {
	var workers sync.WaitGroup
	for c := range w.clients {
		for i := range 3 {
			workers.Go(func() { newWorker(w, c, i).work() })
		}
		workers.Go(w.networks[c].changeConditions)
	}
	workers.Wait()
	for _, n := range w.networks {
		n.clear()
	}
	synctest.Wait() // for requests that were about to hang
	for _, n := range w.networks {
		n.Resume()
	}
	if w.counts.delayed = w.releaseDelayed(); w.counts.delayed > 0 {
		w.settle()
	}
	// A caller that asks now is granted everything soon: nobody has a turn or a place for ever.
	for i, c := range w.clients {
		ctx, cancel := context.WithTimeout(context.Background(), 3*w.ttl)
		for k := range locks {
			lease, err := c.Mutex(lockName(k)).Lock(ctx)
			if err != nil {
				w.errorf("client %d cannot get %s on a healthy network: %v", i, lockName(k), err)
				continue
			}
			if err := lease.Release(); err != nil {
				w.errorf("client %d cannot release on a healthy network: %v", i, err)
			}
		}
		cancel()
	}
	time.Sleep(3 * w.ttl) // delayed requests take effect, and are undone
	w.settle()
	if left, err := w.engine.List(context.Background(), driver.Query{Queue: true}); err != nil || len(left) > 0 {
		w.errorf("left behind on the engine: %+v %v", left, err)
	}
	for _, c := range w.clients {
		if err := c.Close(); err != nil {
			w.errorf("close: %v", err)
		}
	}
	w.checkBalance()
}

// releaseDelayed lets all delayed requests arrive, and returns how many there were.
func (w *simulation) releaseDelayed() int {
	w.engine.deliverAll()
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	return w.engine.count
}

// settle lets time pass until nobody holds or waits: what arrives late is granted in its turn, and nobody releases it.
func (w *simulation) settle() {
	for range 30 {
		if w.isEmpty() {
			return
		}
		time.Sleep(w.ttl)
	}
}

// isEmpty reports whether nobody holds or waits.
func (w *simulation) isEmpty() bool {
	left, err := w.engine.List(context.Background(), driver.Query{Queue: true})
	return err == nil && len(left) == 0
}

func lockName(i int) string { return fmt.Sprint("lock ", i) }

// program is a goroutine of a program that uses locks.
type program struct {
	*simulation
	name   string
	client *Client
	rng    *rand.Rand
}

func newWorker(w *simulation, client, i int) *program {
	return &program{
		simulation: w,
		name:       fmt.Sprintf("%d.%d", client, i),
		client:     w.clients[client],
		rng:        rand.New(rand.NewPCG(w.seed, uint64(100*client+i+1))),
	}
}

// upTo returns a time below d.
func (w *program) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

func (w *program) work() {
	for range 3 {
		time.Sleep(w.upTo(w.ttl / 2))
		w.acquireOnce()
	}
	w.rush()
	w.acquireOnce()
}

// rush makes the programs of a client queue for one lock, which each holds for a moment.
func (w *program) rush() {
	key := driver.Key{Kind: driver.Lock, Name: lockName(0)}
	opts := []Option{WaitLimit(w.ttl + w.upTo(w.ttl))}
	if w.seed%2 == 0 {
		opts = append(opts, Linger(w.ttl))
	}
	for range 3 {
		time.Sleep(w.upTo(time.Millisecond))
		before := w.checkerOf(key).highestSeen()
		lease, err := w.client.Mutex(key.Name, opts...).Lock(context.Background())
		if err != nil {
			w.noteFailed(key, err)
			continue
		}
		w.noteReused(lease)
		s := w.checkerOf(key).enter(w, lease, 1, before)
		time.Sleep(w.upTo(2 * time.Millisecond))
		if w.rng.IntN(4) == 0 {
			s.checker.noteDowngraded(s)
			go lease.Downgrade(context.Background()) // nobody waits for the outcome
			time.Sleep(w.upTo(2 * time.Millisecond))
		}
		w.release(lease, s)
	}
}

// acquireOnce asks for something, uses it in one way or another, and releases it.
func (w *program) acquireOnce() {
	if w.rng.IntN(8) == 0 {
		w.acquireAll()
		return
	}
	limit := w.ttl/3 + w.upTo(2*w.ttl) // at least as long as one request may take
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var opts []Option
	giveUp := time.NewTimer(0)
	if w.rng.IntN(3) == 0 {
		opts = append(opts, WaitLimit(limit))
	} else {
		giveUp = time.AfterFunc(limit, cancel)
	}
	switch w.rng.IntN(8) {
	case 0:
		opts = append(opts, NoRenew())
	case 1:
		opts = append(opts, MaxHold(w.ttl/2+w.upTo(w.ttl)))
	case 2, 3, 4:
		opts = append(opts, Linger(w.ttl))
	}
	name := lockName(w.rng.IntN(locks))
	key := driver.Key{Kind: driver.Lock, Name: name}
	weight := 1
	var lease *Lease
	var err error
	began := time.Now()
	before := w.checkerOf(key).highestSeen()
	what := w.rng.IntN(10)
	switch {
	case what < 4:
		lease, err = w.client.Mutex(name, opts...).Lock(ctx)
	case what < 6:
		lease, err = w.client.Mutex(name, opts...).TryLock(ctx)
	case what < 7:
		lease, err = w.client.RWMutex(name, opts...).RLock(ctx)
	case what < 8:
		lease, err = w.client.RWMutex(name, opts...).TryRLock(ctx)
	default:
		key, weight = driver.Key{Kind: driver.Semaphore, Name: "semaphore"}, 1+w.rng.IntN(semaphoreSize)
		before = w.checkerOf(key).highestSeen()
		lease, err = w.client.Semaphore(key.Name, semaphoreSize, opts...).Acquire(ctx, weight)
	}
	giveUp.Stop()
	if took := time.Since(began); took > limit {
		w.errorf("%s: asking for %s took %v of %v", w.name, key.Name, took, limit)
	}
	if err != nil {
		w.noteFailed(key, err)
		return
	}
	w.noteReused(lease)
	w.use(lease, w.checkerOf(key).enter(w, lease, weight, before))
}

// noteReused counts a lease of a hold that was idle.
func (w *program) noteReused(lease *Lease) {
	h := lease.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if lease.tenure > uint32(h.handOvers)+1 {
		w.simulation.mu.Lock()
		defer w.simulation.mu.Unlock()
		w.counts.reused++
	}
}

// acquireAll locks all names together, works for a while, and releases them.
func (w *program) acquireAll() {
	limit := w.ttl/3 + w.upTo(2*w.ttl)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	giveUp := time.AfterFunc(limit, cancel)
	var names []string
	var before []uint64
	for i := range locks {
		names = append(names, lockName(i))
		before = append(before, w.checkerOf(driver.Key{Kind: driver.Lock, Name: names[i]}).highestSeen())
	}
	began := time.Now()
	set, err := w.client.LockAll(ctx, names...)
	giveUp.Stop()
	// A caller that gives up first releases what it has.
	if took, maxTime := time.Since(began), limit+(locks-1)*w.client.requests.Timeout; took > maxTime {
		w.errorf("%s: asking for everything took %v of %v", w.name, took, maxTime)
	}
	if errors.Is(err, ErrLost) {
		w.printf("%s: lost one while waiting for another: %v", w.name, err)
		return
	}
	if err != nil {
		w.noteFailed(driver.Key{Kind: driver.Lock, Name: names[0]}, err)
		return
	}
	w.simulation.mu.Lock()
	w.counts.sets++
	w.simulation.mu.Unlock()
	stays := make([]*holding, locks)
	for i, lease := range set.Leases() {
		if lease.Context().Err() == nil { // the first may have ended before the last was granted
			stays[i] = w.checkerOf(lease.hold.lock.key).enter(w, lease, 1, before[i])
		}
	}
	time.Sleep(w.upTo([]time.Duration{w.ttl / 20, 2 * w.ttl}[w.rng.IntN(2)]))
	for i, lease := range set.Leases() {
		if stays[i] != nil {
			w.release(lease, stays[i])
		} else {
			lease.Release()
		}
	}
}

// brief returns an error without the part that follows if there was no answer: when a request and a wait end at the
// same instant, either may come first.
func brief(err error) string {
	if text, _, cut := strings.Cut(err.Error(), ErrUnavailable.Error()); cut {
		return text + ErrUnavailable.Error()
	}
	return err.Error()
}

func (w *program) noteFailed(key driver.Key, err error) {
	w.printf("%s: no %s %s: %s", w.name, key.Kind, key.Name, brief(err))
	w.simulation.mu.Lock()
	defer w.simulation.mu.Unlock()
	switch {
	case errors.Is(err, ErrHeld):
		w.counts.held++
	case errors.Is(err, ErrUnavailable):
		w.counts.unavailable++
	case errors.Is(err, context.Canceled), errors.Is(err, ErrTimeout):
		w.counts.gaveUp++
	default:
		w.t.Errorf("%s: not an answer that a caller expects: %v", w.name, err)
	}
}

// use works under the lease and releases it.
func (w *program) use(lease *Lease, s *holding) {
	done := lease.Context().Done()
	switch w.rng.IntN(7) {
	case 4:
		w.storeData(lease, s)
	case 0: // works for long, and watches the context
		select {
		case <-done:
		case <-time.After(w.upTo(3 * w.ttl)):
		}
	case 1: // pauses, and checks the context first thing afterwards
		time.Sleep(w.upTo(3 * w.ttl))
	case 2: // extends the lease
		if err := lease.Extend(context.Background(), w.ttl+w.upTo(w.ttl)); err == nil {
			w.printf("%s: %s extended", w.name, lease.Name())
		}
		time.Sleep(w.upTo(2 * w.ttl))
	case 3: // lets readers in
		if lease.hold.lock.key.Kind == driver.Lock {
			s.checker.noteDowngraded(s) // from now on it counts as a reader, whatever the outcome
			w.printf("%s: %s downgraded: %v", w.name, lease.Name(), lease.Downgrade(context.Background()))
		}
		time.Sleep(w.upTo(w.ttl))
	default: // quick work
		time.Sleep(w.upTo(w.ttl / 20))
	}
	if now := time.Now(); now.After(lease.Deadline()) {
		w.simulation.mu.Lock()
		w.counts.outlived++
		w.simulation.mu.Unlock()
		select {
		case <-done:
		default:
			w.errorf("%s: the context of %s is not done %v after the deadline", w.name, lease.Name(),
				now.Sub(lease.Deadline()))
		}
	}
	w.release(lease, s)
}

// storeData stores the token of the lease as the data of a lock, after a look at what is stored, and looks again.
func (w *program) storeData(lease *Lease, s *holding) {
	j := s.checker
	if j.key.Kind != driver.Lock || s.shared {
		return
	}
	m := w.client.Mutex(lease.Name())
	look := func() {
		before := j.dataStored()
		d, err := m.Data(context.Background())
		if err != nil {
			w.printf("%s: no data of %s: %s", w.name, lease.Name(), brief(err))
			return
		}
		if lease.Err() == nil {
			j.checkData(w, lease, d, before)
		}
	}
	look()
	time.Sleep(w.upTo(w.ttl / 20))
	err := lease.SetData(context.Background(), fmt.Append(nil, lease.Token()))
	w.simulation.mu.Lock()
	switch {
	case err == nil:
		w.counts.stored++
	case errors.Is(err, ErrUnavailable):
		w.counts.notStored++
	}
	w.simulation.mu.Unlock()
	if err == nil {
		w.printf("%s: data of %s stored with token %d", w.name, lease.Name(), lease.Token())
		j.noteData(lease.Token())
	} else {
		w.printf("%s: data of %s not stored: %s", w.name, lease.Name(), brief(err))
	}
	time.Sleep(w.upTo(w.ttl / 20))
	look()
}

func (w *program) release(lease *Lease, s *holding) {
	began := time.Now()
	s.checker.leave(s) // from now on it relies on nothing, whatever the outcome
	if w.rng.IntN(4) == 0 {
		lease.ReleaseLater()
		w.printf("%s: %s %d is released later", w.name, lease.Name(), lease.Token())
		if took := time.Since(began); took > 0 && !errors.Is(lease.Err(), ErrLost) {
			w.errorf("%s: ReleaseLater took %v", w.name, took)
		}
		return
	}
	err := lease.Release()
	w.printf("%s: released %s %d: %v", w.name, lease.Name(), lease.Token(), err)
	if took := time.Since(began); took > w.client.requests.Timeout {
		w.errorf("%s: Release took %v", w.name, took)
	}
	w.simulation.mu.Lock()
	defer w.simulation.mu.Unlock()
	switch {
	case err == nil:
		w.counts.released++
	case errors.Is(err, ErrLost), errors.Is(err, ErrMaxHold):
		w.counts.lost++
	case errors.Is(err, ErrUnknown):
		w.counts.unknown++
	default:
		w.t.Errorf("%s: not an answer that Release gives: %v", w.name, err)
	}
}

// ObserveGrant counts hand-overs inside a process.
func (w *simulation) ObserveGrant(e Granted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.HandedOver {
		w.counts.handOvers++
	}
}
