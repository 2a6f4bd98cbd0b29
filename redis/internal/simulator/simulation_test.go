package simulator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	redisengine "github.com/leasehold-go/leasehold/redis"
)

// simulation is one schedule: servers with faults; programs with bad network paths to them; workers
// that lock, pause and release; and a checker for each name.
type simulation struct {
	seed     uint64
	began    time.Time
	ttl      time.Duration
	maxTTL   time.Duration
	replicas bool // each grant waits for a replica
	guarded  bool // with the failover guard
	cluster  *cluster
	clients  []*client
	checkers []*checker

	mu         sync.Mutex
	heldBack   map[int]chan struct{} // by slot: for requests that are held back
	granted    chan struct{}         // closed by the next grant
	log        []event
	violations []string
	counts     counts
}

type event struct {
	at     time.Duration
	format string
	args   []any
}

// client is one program.
type client struct {
	simulation *simulation
	index      int
	conn       redis.UniversalClient
	redis      *redisengine.Engine
	core       *leasehold.Client

	mu         sync.Mutex
	conditions map[string]condition // by address
	undoing    map[int]bool         // by slot: too few replicas have confirmed a grant
}

func newSimulation(seed uint64, planted plantedFault) *simulation {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &simulation{seed: seed, began: time.Now(), heldBack: map[int]chan struct{}{}, granted: make(chan struct{}),
		replicas: rng.IntN(3) == 0}
	w.ttl = []time.Duration{time.Second, 3 * time.Second}[rng.IntN(2)]
	w.maxTTL = w.ttl + time.Duration(rng.Int64N(int64(w.ttl)))
	w.cluster = newCluster([]int{1, 3}[rng.IntN(2)])
	w.guarded = w.cluster.alone || rng.IntN(4) > 0
	w.cluster.plantedFault, w.cluster.confirmTooFew = planted, w.confirmTooFew
	w.cluster.smallSteps = seed%2 == 0
	for at := range w.cluster.servers {
		w.cluster.start(at, w.clock(rng), time.Now(), map[string]*value{})
	}
	for i := range 2 {
		w.checkers = append(w.checkers, &checker{simulation: w, name: fmt.Sprint("lock ", i),
			possessions: map[*possession]bool{}, tokens: map[uint64]bool{}})
	}
	for i := range 3 {
		w.clients = append(w.clients, w.client(i))
	}
	return w
}

// clock returns a clock with any offset, and a rate within the allowance for drift.
func (w *simulation) clock(rng *rand.Rand) *clock {
	return &clock{time.Now(), time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour, 0.99 + 0.02*rng.Float64()}
}

func (w *simulation) client(i int) *client {
	c := &client{simulation: w, index: i, conditions: map[string]condition{}, undoing: map[int]bool{}}
	c.open()
	return c
}

// open starts the program.
func (c *client) open() {
	w := c.simulation
	opts := []redisengine.Option{redisengine.WithMaxTTL(max(w.maxTTL, time.Second)), redisengine.WithPolling()}
	if !w.guarded {
		opts = append(opts, redisengine.WithoutFailoverGuard())
	}
	if w.replicas {
		opts = append(opts, redisengine.WithReplicas(1, 10*time.Millisecond))
	}
	c.conn = c.connect()
	var err error
	if c.redis, err = redisengine.New(c.conn, opts...); err != nil {
		panic(err)
	}
	c.core = leasehold.New(c.redis, leasehold.WithDefaults(leasehold.TTL(w.ttl)), leasehold.WithRequestTimeout(w.ttl/3),
		leasehold.WithHolder(fmt.Sprint("client ", c.index)))
	random := reflect.ValueOf(c.core).Elem().FieldByName("random")
	*(*func(int64) int64)(random.Addr().UnsafePointer()) = func(n int64) int64 {
		return w.chance("core", c.index).Int64N(n)
	}
}

// close ends the program.
func (c *client) close() {
	for _, end := range []func() error{c.core.Close, c.redis.Close, c.conn.Close} {
		if err := end(); err != nil && !errors.Is(err, leasehold.ErrLost) && !errors.Is(err, leasehold.ErrUnknown) {
			c.simulation.reportViolation("close: %v", err)
		}
	}
}

// chance returns a random source that depends only on the seed, the moment and the occasion, and
// not on the order in which goroutines run.
func (w *simulation) chance(what string, numbers ...int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range fmt.Append([]byte(what), numbers) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed^h, uint64(time.Since(w.began))))
}

// sleep sleeps for a time below most.
func (w *simulation) sleep(rng *rand.Rand, most time.Duration) {
	time.Sleep(time.Duration(rng.Int64N(int64(most))))
}

func (w *simulation) printf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, event{time.Since(w.began), format, args})
}

func (w *simulation) reportViolation(format string, args ...any) {
	w.printf("BROKEN: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *simulation) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// transcript returns all events.
func (w *simulation) transcript() (lines []string) {
	for _, e := range w.log {
		lines = append(lines, fmt.Sprintf("%12.6fs  ", e.at.Seconds())+fmt.Sprintf(e.format, e.args...))
	}
	return lines
}

// run lets the workers work for a while, ends all faults, and checks that everybody gets what they
// ask for.
func (w *simulation) run() {
	w.setAllConditions(faultless)
	w.lockEverything("at first") // the servers are new to all clients
	w.setAllConditions(normal)
	var all sync.WaitGroup
	for _, c := range w.clients {
		for i := range 1 + c.index%2 {
			all.Go(func() { newWorker(c, i).work() })
		}
	}
	all.Go(func() { w.disturbServers(rand.New(rand.NewPCG(w.seed, 1000))) })
	all.Go(func() { w.changeConditions(rand.New(rand.NewPCG(w.seed, 1001))) })
	all.Wait()
	w.setAllConditions(faultless)
	w.endHoldingBack()
	w.printf("no more faults")
	w.lockEverything("although nothing is wrong")
	for _, c := range w.clients {
		c.close()
	}
	time.Sleep(time.Minute) // for requests in flight
}

// lockEverything locks every name from every client, and must succeed.
func (w *simulation) lockEverything(when string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*w.maxTTL+time.Minute)
	defer cancel()
	for _, c := range w.clients {
		for _, j := range w.checkers {
			before := j.exposed()
			lease, err := c.core.Mutex(j.name).Lock(ctx)
			// It may still wait for the answer to an earlier request.
			for errors.Is(err, leasehold.ErrUnavailable) && ctx.Err() == nil {
				time.Sleep(w.ttl / 4)
				lease, err = c.core.Mutex(j.name).Lock(ctx)
			}
			if err != nil {
				w.reportViolation("client %d cannot get %s %s: %v", c.index, j.name, when, err)
				continue
			}
			j.enter(fmt.Sprint(c.index), lease, false, before).leave()
			if err := lease.Release(); err != nil {
				w.printf("release %s: %v", when, err)
			}
		}
	}
}

// worker is a goroutine of some program that uses locks.
type worker struct {
	*simulation
	name   string
	client *client
	rng    *rand.Rand
}

func newWorker(c *client, i int) *worker {
	return &worker{simulation: c.simulation, name: fmt.Sprintf("%d.%d", c.index, i), client: c,
		rng: rand.New(rand.NewPCG(c.simulation.seed, uint64(100*c.index+i+1)))}
}

// upTo returns a time below d.
func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

func (w *worker) work() {
	for range 5 {
		time.Sleep(w.upTo(w.ttl / 2))
		w.lockOnce(w.checkers[w.rng.IntN(len(w.checkers))])
	}
}

// lockOnce asks for a lock, works under it, and releases it.
func (w *worker) lockOnce(j *checker) {
	c := w.client
	if c.index == 0 && w.rng.IntN(2) == 0 { // a program that starts now, and ends after its work
		c = w.simulation.client(c.index)
		defer c.close()
	}
	var opts []leasehold.Option
	if w.rng.IntN(4) == 0 {
		opts = append(opts, leasehold.NoRenew())
	}
	m := c.core.RWMutex(j.name, append(opts, leasehold.WaitLimit(w.ttl/2+w.upTo(2*w.maxTTL)))...)
	before := j.exposed()
	var lease *leasehold.Lease
	var err error
	shared := w.rng.IntN(3) == 0
	switch now := w.rng.IntN(3) == 0; {
	case shared && now:
		lease, err = m.TryRLock(context.Background())
	case shared:
		lease, err = m.RLock(context.Background())
	case now:
		lease, err = m.TryLock(context.Background())
	default:
		lease, err = m.Lock(context.Background())
	}
	if err != nil {
		w.printf("%s: no %s: %v", w.name, j.name, err)
		w.count(&w.counts.refused)
		return
	}
	s := j.enter(w.name, lease, shared, before)
	switch w.rng.IntN(4) {
	case 0: // works for long, and watches its lease
		select {
		case <-lease.Context().Done():
		case <-time.After(w.upTo(3 * w.ttl)):
		}
	case 1: // pauses
		time.Sleep(w.upTo(3 * w.ttl))
	case 2: // lets readers in
		j.mu.Lock()
		s.shared = true // from now on, whatever the answer
		j.mu.Unlock()
		if !shared {
			w.printf("%s: downgraded %s: %v", w.name, j.name, lease.Downgrade(context.Background()))
		}
		time.Sleep(w.upTo(w.ttl))
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
		w.reportViolation("%s: not an answer that Release gives: %v", w.name, err)
	}
}
