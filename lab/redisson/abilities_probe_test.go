package redisson

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// probeLease is the lease of what is held, unless requests are counted.
const probeLease = 1500 * time.Millisecond

// probeLimit is how long something may take that does not have to wait for anything.
const probeLimit = 10 * time.Second

// probe finds out whether an object has an ability, with two clients and a name of its own.
type probe struct {
	t      *testing.T
	server *redisserver.Server
	name   string
	a, b   use
	kill   func() // the first client
}

// use is how one client uses an object.
type use struct {
	take  func(context.Context) (*grip, error) // it waits
	share func(context.Context) (*grip, error) // for what others may have, too; nil if there is nothing such
	again func(context.Context, *grip) error   // takes it once more
	// brief takes it with MaxHold. nil: there is no such option.
	brief func(context.Context) (*grip, error)

	engine *redisson.Engine
	key    driver.Key // of the object, or of one of its locks
	latch  *leasehold.Latch
}

// grip is a hold of an object.
type grip struct {
	ctx       context.Context // ends when it is lost; nil if nobody tells
	tokens    []uint64        // of each lock, 0 for one that a majority of others does without
	downgrade func(context.Context) error
	end       func() error
}

// probes limits how many there are at a time: the leases are short, and a machine may be small.
var probes = make(chan struct{}, 12)

// newProbe begins a try to find out about a column.
func newProbe(t *testing.T, s *redisserver.Server, r row, column string, try int) *probe {
	t.Helper()
	lease := probeLease
	if column == "notified" { // it counts requests
		s, lease = redisserver.ForTest(t, redisserver.Config{}), time.Minute
	}
	p := &probe{t: t, server: s, name: fmt.Sprint(r.name, " ", strings.Trim(column, "`"), ".", try)}
	p.a, p.kill = r.open(t, s, p.name, lease)
	p.b, _ = r.open(t, s, p.name, lease)
	return p
}

// program is a client of go-redis with objects, and engines of a type.
type program struct {
	t        *testing.T
	rdb      *goredis.Client
	objects  *objects.Client
	name     string
	lockType redisson.LockType
	lease    time.Duration
}

// open opens an object in a program of its own, which kill ends without a release.
func (r row) open(t *testing.T, s *redisserver.Server, name string, lease time.Duration) (_ use, kill func()) {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	o, err := objects.New(rdb, objects.WithWatchdogTimeout(lease))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(o.Close(), rdb.Close()) }) // some have lost what they held
	return r.use(&program{t, rdb, o, name, r.lock, lease}), func() { _ = rdb.Close() }
}

// engine returns an engine with the type of locks, and the library on it.
func (p *program) engine() (*redisson.Engine, *leasehold.Client) {
	p.t.Helper()
	e, err := redisson.New(p.rdb, redisson.WithLock(p.lockType), redisson.WithJavaWatchdogTimeout(p.lease))
	if err != nil {
		p.t.Fatal(err)
	}
	c := leasehold.New(e, leasehold.WithDefaults(leasehold.TTL(p.lease)))
	p.t.Cleanup(func() { _ = errors.Join(c.Close(), e.Close()) })
	return e, c
}

// limited returns a context for what does not have to wait.
func (p *probe) limited(limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	p.t.Cleanup(cancel)
	return ctx
}

// hold lets the first client hold the object, or reports that it cannot be held.
func (p *probe) hold() (*grip, bool) {
	p.t.Helper()
	if p.a.take == nil {
		return nil, false
	}
	ctx := p.limited(probeLimit)
	for {
		g, err := p.a.take(ctx)
		switch {
		case err == nil:
			return g, true
		case ctx.Err() != nil || !errors.Is(err, leasehold.ErrUnavailable): // a busy machine may be slow
			p.t.Errorf("take: %v", err)
			return nil, false
		}
	}
}

// second reports whether the second client gets the object within a time.
func (p *probe) second(within time.Duration) bool {
	g, err := p.b.take(p.limited(within))
	if err == nil {
		_ = g.end() // it may have been lost
	}
	return err == nil
}

// hasLease: what a program held is free some time after its death.
func (p *probe) hasLease() bool {
	if _, ok := p.hold(); !ok {
		return false
	}
	p.kill()
	return p.second(probeLease + slack)
}

// isRenewed: a hold lasts for three leases.
func (p *probe) isRenewed() bool {
	g, ok := p.hold()
	return ok && g.ctx != nil && !p.second(3*probeLease) && g.ctx.Err() == nil
}

// tellsLoss: a holder learns that its hold is gone.
func (p *probe) tellsLoss() bool {
	g, ok := p.hold()
	if !ok || g.ctx == nil {
		return false
	}
	p.onKeys("DEL")
	select {
	case <-g.ctx.Done():
		return errors.Is(context.Cause(g.ctx), leasehold.ErrLost)
	case <-time.After(probeLimit):
		return false
	}
}

// hasTokens: the server counts them.
func (p *probe) hasTokens() bool {
	g, ok := p.hold()
	if !ok || g.end() != nil {
		return false
	}
	next, err := p.b.take(p.limited(probeLimit))
	if err != nil {
		return false
	}
	inBoth := 0
	for i, token := range g.tokens {
		later := next.tokens[i]
		if token == 0 || later == 0 {
			continue
		}
		if later <= token || later >= 1000 { // the clock is more
			return false
		}
		inBoth++
	}
	return inBoth > 0
}

// entersAgain: a holder may lock once more.
func (p *probe) entersAgain() bool {
	g, ok := p.hold()
	return ok && p.a.again != nil && p.a.again(p.limited(probeLease/2), g) == nil
}

// isShared: two hold it at the same time.
func (p *probe) isShared() bool {
	if p.a.share == nil {
		return false
	}
	for _, u := range []use{p.a, p.b} {
		if _, err := u.share(p.limited(probeLimit)); errors.Is(err, leasehold.ErrUnsupported) {
			return false
		} else if err != nil {
			p.t.Errorf("share: %v", err)
		}
	}
	return true
}

// downgrades: a holder lets others in, and stays.
func (p *probe) downgrades() bool {
	g, ok := p.hold()
	if !ok || g.downgrade == nil || g.downgrade(p.limited(probeLimit)) != nil {
		return false
	}
	_, err := p.b.share(p.limited(probeLimit))
	return err == nil && g.ctx.Err() == nil
}

// keepsOrder: the engine says so, and the suite of engines checks it there.
func (p *probe) keepsOrder() bool {
	return p.a.engine != nil && p.a.key.Kind == driver.Lock && p.a.brief != nil && p.a.engine.Abilities().Fair
}

// notifies: a waiter has subscribed, and hardly ever asks.
func (p *probe) notifies() bool {
	wait := func(ctx context.Context) error { return p.b.latch.Wait(ctx) }
	if p.b.latch != nil {
		if _, err := p.a.latch.TrySet(p.t.Context(), 1); err != nil {
			p.t.Error(err)
		}
	} else if _, ok := p.hold(); ok {
		wait = func(ctx context.Context) error { _, err := p.b.take(ctx); return err }
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() { done <- wait(ctx) }()
	defer func() { cancel(); <-done }()
	servers := both{servers: []*redisserver.Server{p.server}}
	time.Sleep(asleep)
	for range 3 { // on a slow machine the first second has the requests with which it begins to wait
		before := servers.countScripts(p.t)
		time.Sleep(time.Second)
		asked := servers.countScripts(p.t) - before
		channels, _ := p.command("PUBSUB", "CHANNELS", "*").([]any)
		if len(channels) > 0 && asked <= 2 { // waiters of a fair lock ask once a second
			return true
		}
	}
	return false
}

func (p *probe) command(args ...string) any {
	v, err := p.server.Command(args...)
	if err != nil {
		p.t.Error(err)
	}
	return v
}

// onKeys runs a command on each key of the object.
func (p *probe) onKeys(command string) {
	keys, _ := p.command("EVAL", "return redis.call('keys', '*' .. ARGV[1] .. '*')", "0", p.name).([]any)
	for _, key := range keys {
		p.command(command, fmt.Sprint(key))
	}
}

// list returns what a listing says of the object while it is held, or used.
func (p *probe) list(q driver.Query) []driver.Status {
	if p.a.engine == nil {
		return nil
	}
	if p.a.latch != nil {
		if _, err := p.a.latch.TrySet(p.t.Context(), 1); err != nil {
			p.t.Error(err)
		}
	} else {
		p.hold()
	}
	found, err := p.a.engine.List(p.limited(probeLimit), q)
	if err != nil {
		p.t.Errorf("list: %v", err)
	}
	return found
}

// isListed: a listing of all names has it.
func (p *probe) isListed() bool {
	for _, st := range p.list(driver.Query{Kind: p.a.key.Kind, Limit: 100}) {
		if st.Key == p.a.key {
			return true
		}
	}
	return false
}

// isInspected: it is found by its name.
func (p *probe) isInspected() bool {
	return len(p.list(driver.Query{Kind: p.a.key.Kind, Name: p.a.key.Name})) > 0
}

// isForced: an operator may take it away.
func (p *probe) isForced() bool {
	for _, st := range p.list(driver.Query{Kind: p.a.key.Kind, Name: p.a.key.Name}) {
		for _, h := range st.Holders {
			if p.a.engine.ForceRelease(p.limited(probeLimit), st.Key, h.Token) == nil {
				return true
			}
		}
	}
	return false
}

// findsLeaks: a hold that never ends is found.
func (p *probe) findsLeaks() (found bool) {
	if len(p.list(driver.Query{Kind: p.a.key.Kind, Name: p.a.key.Name})) == 0 {
		return false
	}
	p.kill() // it would renew the lease
	// A renewal that was sent before may come after the first PERSIST.
	for range 3 {
		p.onKeys("PERSIST")
		err := p.b.engine.Leaks(p.limited(probeLimit), driver.Query{}, func(l driver.Leak) bool {
			found = found || l.Key == p.a.key
			return true
		})
		if err != nil {
			p.t.Errorf("leaks: %v", err)
		}
		if found {
			break
		}
	}
	return found
}

// hasMaxHold: a hold ends after the time that it may last.
func (p *probe) hasMaxHold() bool {
	if p.a.brief == nil {
		return false
	}
	g, err := p.a.brief(p.limited(probeLimit))
	if err != nil || g.ctx == nil {
		p.t.Logf("take with MaxHold: %v", err) // a machine that is late grants too late
		return false
	}
	<-g.ctx.Done()
	return errors.Is(context.Cause(g.ctx), leasehold.ErrMaxHold) && p.second(probeLimit)
}

// rows are the objects of Redisson.
type row struct {
	name string
	lock redisson.LockType
	use  func(p *program) use
}

var rows = []row{
	{"RLock", redisson.Plain, (*program).useLock},
	{"RFencedLock", redisson.Fenced, (*program).useLock},
	{"RSpinLock", redisson.Spin, (*program).useLock},
	{"RFairLock", redisson.Fair, (*program).useLock},
	{"RReadWriteLock", redisson.ReadWrite, (*program).useReadWrite},
	{"RedissonMultiLock", redisson.Fenced, func(p *program) use { return p.useMulti(objects.NewMultiLock) }},
	{"RedissonRedLock", redisson.Fenced, func(p *program) use { return p.useMulti(objects.NewRedLock) }},
	{"RSemaphore", redisson.Fenced, (*program).useSemaphore},
	{"RPermitExpirableSemaphore", redisson.Fenced, (*program).usePermits},
	{"RCountDownLatch", redisson.Fenced, (*program).useLatch},
}

const maxHold = 200 * time.Millisecond

// grips turns a method that takes a lease into one that takes a grip.
func grips(take func(context.Context) (*leasehold.Lease, error)) func(context.Context) (*grip, error) {
	return func(ctx context.Context) (*grip, error) {
		l, err := take(ctx)
		if err != nil {
			return nil, err
		}
		return &grip{l.Context(), []uint64{l.Token()}, l.Downgrade, l.Release}, nil
	}
}

func (p *program) useLock() use {
	e, c := p.engine()
	m := c.Mutex(p.name)
	l := map[redisson.LockType]func(string) *objects.Lock{
		redisson.Plain: p.objects.Lock, redisson.Fenced: p.objects.FencedLock, redisson.Spin: p.objects.SpinLock,
		redisson.Fair: p.objects.FairLock,
	}[p.lockType](p.name + " again")
	return use{
		take: grips(m.Lock), share: grips(c.RWMutex(p.name).RLock),
		brief: grips(c.Mutex(p.name, leasehold.MaxHold(maxHold)).Lock),
		again: func(ctx context.Context, _ *grip) error {
			return errors.Join(l.Lock(ctx), l.Lock(ctx), l.Unlock(), l.Unlock())
		},
		engine: e, key: driver.Key{Kind: driver.Lock, Name: p.name},
	}
}

func (p *program) useReadWrite() use {
	e, c := p.engine()
	m := c.RWMutex(p.name)
	l := p.objects.ReadWriteLock(p.name + " again")
	return use{
		take: grips(m.Lock), share: grips(m.RLock), brief: grips(c.RWMutex(p.name, leasehold.MaxHold(maxHold)).Lock),
		again: func(ctx context.Context, _ *grip) error {
			return errors.Join(l.Lock(ctx), l.Lock(ctx), l.Unlock(), l.Unlock())
		},
		engine: e, key: driver.Key{Kind: driver.Lock, Name: p.name},
	}
}

// useMulti uses three locks as one.
func (p *program) useMulti(newMulti func(...*objects.Lock) (*objects.MultiLock, error)) use {
	e, _ := p.engine()
	var locks []*objects.Lock
	for _, suffix := range []string{"", " 2", " 3"} {
		locks = append(locks, p.objects.FencedLock(p.name+suffix))
	}
	m, err := newMulti(locks...)
	if err != nil {
		p.t.Fatal(err)
	}
	return use{
		take: func(ctx context.Context) (*grip, error) {
			if err := m.Lock(ctx); err != nil {
				return nil, err
			}
			g := &grip{ctx: m.Context(), end: m.Unlock}
			late := time.Now().Add(2 * time.Second) // one of the servers may have refused
			for _, l := range locks {
				for l.HoldCount() == 0 && time.Now().Before(late) { // a majority is held before the last one
					time.Sleep(time.Millisecond)
				}
				g.tokens = append(g.tokens, l.Token())
			}
			return g, nil
		},
		again:  func(ctx context.Context, _ *grip) error { return m.Lock(ctx) },
		engine: e, key: driver.Key{Kind: driver.Lock, Name: p.name},
	}
}

func (p *program) useSemaphore() use {
	e, _ := p.engine()
	s := e.Semaphore(p.name)
	_, err := s.TrySetPermits(p.t.Context(), 2)
	if err != nil {
		p.t.Fatal(err)
	}
	take := func(n int) func(context.Context) (*grip, error) {
		return func(ctx context.Context) (*grip, error) {
			err := s.Acquire(ctx, n)
			return &grip{end: func() error { return s.Release(context.Background(), n) }}, err
		}
	}
	return use{take: take(2), share: take(1), engine: e, key: driver.Key{Kind: driver.Semaphore, Name: p.name}}
}

func (p *program) usePermits() use {
	e, c := p.engine()
	s, brief := c.Semaphore(p.name, 2), c.Semaphore(p.name, 2, leasehold.MaxHold(maxHold))
	take := func(s *leasehold.Semaphore, n int) func(context.Context) (*grip, error) {
		return grips(func(ctx context.Context) (*leasehold.Lease, error) { return s.Acquire(ctx, n) })
	}
	return use{
		take: take(s, 2), share: take(s, 1), brief: take(brief, 2),
		again: func(_ context.Context, g *grip) error {
			ctx, cancel := context.WithTimeout(g.ctx, probeLease/2)
			defer cancel()
			_, err := s.Acquire(ctx, 1)
			return err
		},
		engine: e, key: driver.Key{Kind: driver.Semaphore, Name: p.name},
	}
}

func (p *program) useLatch() use {
	e, c := p.engine()
	return use{engine: e, key: driver.Key{Kind: driver.Latch, Name: p.name}, latch: c.Latch(p.name)}
}
