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

// world is one schedule: servers to which things happen; programs whose ways to them have weather; workers who lock, pause and release; and a judge for each name.
type world struct {
	seed     uint64
	began    time.Time
	ttl      time.Duration
	maxTTL   time.Duration
	replicas bool // each grant waits for a replica
	guarded  bool // there is the failover guard
	cluster  *cluster
	clients  []*client
	judges   []*judge

	mu      sync.Mutex
	gates   map[int]chan struct{} // by slot: for requests that are held back
	granted chan struct{}         // closed by the next grant
	log     []event
	wrong   []string
	counts  counts
}

type event struct {
	at     time.Duration
	format string
	args   []any
}

// client is one program.
type client struct {
	world *world
	index int
	conn  redis.UniversalClient
	redis *redisengine.Engine
	core  *leasehold.Client

	mu      sync.Mutex
	skies   map[string]sky // by address
	undoing map[int]bool   // by slot: too few replicas have confirmed a grant
}

func newWorld(seed uint64, planted plant) *world {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &world{seed: seed, began: time.Now(), gates: map[int]chan struct{}{}, granted: make(chan struct{}), replicas: rng.IntN(3) == 0}
	w.ttl = []time.Duration{time.Second, 3 * time.Second}[rng.IntN(2)]
	w.maxTTL = w.ttl + time.Duration(rng.Int64N(int64(w.ttl)))
	w.cluster = newCluster([]int{1, 3}[rng.IntN(2)])
	w.guarded = w.cluster.alone || rng.IntN(4) > 0
	w.cluster.plant, w.cluster.short = planted, w.short
	for at := range w.cluster.servers {
		w.cluster.start(at, w.clock(rng), time.Now(), map[string]*value{})
	}
	for i := range 2 {
		w.judges = append(w.judges, &judge{w: w, name: fmt.Sprint("lock ", i), in: map[*stay]bool{}, tokens: map[uint64]bool{}})
	}
	for i := range 3 {
		w.clients = append(w.clients, w.client(i))
	}
	return w
}

// clock is off by any time, and its rate by what the allowance for drift bears.
func (w *world) clock(rng *rand.Rand) *clock {
	return &clock{time.Now(), time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour, 0.99 + 0.02*rng.Float64()}
}

func (w *world) client(i int) *client {
	c := &client{world: w, index: i, skies: map[string]sky{}, undoing: map[int]bool{}}
	c.open()
	return c
}

// open starts the program.
func (c *client) open() {
	w := c.world
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
	c.core = leasehold.New(c.redis, leasehold.WithDefaults(leasehold.TTL(w.ttl)), leasehold.WithRequestTimeout(w.ttl/3), leasehold.WithHolder(fmt.Sprint("client ", c.index)))
	random := reflect.ValueOf(c.core).Elem().FieldByName("random")
	*(*func(int64) int64)(random.Addr().UnsafePointer()) = func(n int64) int64 { return w.chance("core", c.index).Int64N(n) }
}

// close ends the program.
func (c *client) close() {
	for _, end := range []func() error{c.core.Close, c.redis.Close, c.conn.Close} {
		if err := end(); err != nil && !errors.Is(err, leasehold.ErrLost) && !errors.Is(err, leasehold.ErrUnknown) {
			c.world.broken("close: %v", err)
		}
	}
}

// chance returns a source of chance that depends only on the seed, the moment and the occasion, and so not on the order in which goroutines run.
func (w *world) chance(what string, numbers ...int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range fmt.Append([]byte(what), numbers) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed^h, uint64(time.Since(w.began))))
}

// sleep sleeps for a time below most.
func (w *world) sleep(rng *rand.Rand, most time.Duration) {
	time.Sleep(time.Duration(rng.Int64N(int64(most))))
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

// run lets the workers work for a while, clears the sky, and looks whether everybody gets what they ask for.
func (w *world) run() {
	w.everywhere(calm)
	w.everybody("at first") // nobody has seen the servers in use
	w.everywhere(fair)
	var all sync.WaitGroup
	for _, c := range w.clients {
		for i := range 1 + c.index%2 {
			all.Go(func() { newWorker(c, i).work() })
		}
	}
	all.Go(func() { w.storm(rand.New(rand.NewPCG(w.seed, 1000))) })
	all.Go(func() { w.clouds(rand.New(rand.NewPCG(w.seed, 1001))) })
	all.Wait()
	w.everywhere(calm)
	w.letGo()
	w.printf("clear sky")
	w.everybody("although all is well")
	for _, c := range w.clients {
		c.close()
	}
	time.Sleep(time.Minute) // for what is still under way
}

// everybody asks for everything, and must get it.
func (w *world) everybody(when string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*w.maxTTL+time.Minute)
	defer cancel()
	for _, c := range w.clients {
		for _, j := range w.judges {
			before := j.exposed()
			lease, err := c.core.Mutex(j.name).Lock(ctx)
			for errors.Is(err, leasehold.ErrUnavailable) && ctx.Err() == nil { // it may still wait for the answer to a question of before
				time.Sleep(w.ttl / 4)
				lease, err = c.core.Mutex(j.name).Lock(ctx)
			}
			if err != nil {
				w.broken("client %d cannot get %s %s: %v", c.index, j.name, when, err)
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

func (w *worker) work() {
	for range 5 {
		time.Sleep(w.upTo(w.ttl / 2))
		w.once(w.judges[w.rng.IntN(len(w.judges))])
	}
}

// once asks for a lock, works under it, and releases it.
func (w *worker) once(j *judge) {
	c := w.client
	if c.index == 0 && w.rng.IntN(2) == 0 { // a program that starts now, and ends with its work
		c = w.world.client(c.index)
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
	case 0: // works for long, and pays attention
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
		w.broken("%s: not an answer that Release gives: %v", w.name, err)
	}
}
