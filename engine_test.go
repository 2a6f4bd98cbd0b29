package leasehold_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/memory"
)

// spy is a memory engine that records what it is asked, and fails where a test says so.
type spy struct {
	*memory.Engine
	can   driver.Abilities
	plain bool // clients get nothing but an Engine

	mu            sync.Mutex
	calls         []call
	before, after func(call) error
}

// call is one request, or one item of a renewal. A latch's ID counts as its owner.
type call struct {
	ctx                 context.Context // of a take or a renewal
	method, name, owner string
	mode                driver.Mode
	tokens              int
	ttl                 time.Duration
}

func newSpy() *spy {
	e := memory.New()
	return &spy{Engine: e, can: e.Abilities()}
}

// fail makes each request fail for which before returns an error: it has no effect, but the client cannot know that.
// With a nil function all requests work again. before may block.
func (s *spy) fail(before func(call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// loseReplies loses the reply to each request for which after returns an error.
func (s *spy) loseReplies(after func(call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = after
}

// sent returns how many requests of these methods there were; without methods, of all.
func (s *spy) sent(methods ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if len(methods) == 0 || slices.Contains(methods, c.method) {
			n++
		}
	}
	return n
}

// last returns the latest request of a method.
func (s *spy) last(t *testing.T, method string) call {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.calls) {
		if c.method == method {
			return c
		}
	}
	t.Fatalf("no %s was sent", method)
	return call{}
}

// owners returns every owner that was sent.
func (s *spy) owners() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, c := range s.calls {
		if c.owner != "" && !slices.Contains(all, c.owner) {
			all = append(all, c.owner)
		}
	}
	return all
}

// localMethods answer from the memory of the process on a Local engine.
var localMethods = []string{"Take", "TakeAll", "Wait", "Renew", "Release"}

// runSpied sends one request through the spy. Unless it is local, the caller leaves it when ctx ends.
func runSpied[T any](ctx context.Context, s *spy, c call, f func() (T, error)) (T, error) {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	before, after := s.before, s.after
	s.mu.Unlock()
	local := s.can.Local && slices.Contains(localMethods, c.method)
	if local || before == nil && after == nil {
		return runBetween(c, before, after, f)
	}
	return detach.Do(ctx, nil, func(context.Context) (T, error) { return runBetween(c, before, after, f) }, nil)
}

// runBetween runs f after before and before after.
func runBetween[T any](c call, before, after func(call) error, f func() (T, error)) (T, error) {
	var none T
	if before != nil {
		if err := before(c); err != nil {
			return none, err
		}
	}
	v, err := f()
	if after != nil {
		if lost := after(c); lost != nil {
			return none, lost
		}
	}
	return v, err
}

func (s *spy) do(ctx context.Context, c call, f func() error) error {
	_, err := runSpied(ctx, s, c, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s *spy) Abilities() driver.Abilities { return s.can }

func (s *spy) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := call{ctx: ctx, method: "Take", name: r.Name, owner: r.Owner, mode: r.Mode, tokens: r.Tokens, ttl: r.TTL}
	return runSpied(ctx, s, c, func() (driver.Grant, error) { return s.Engine.Take(ctx, r) })
}

// Exchange counts as two requests.
func (s *spy) Exchange(ctx context.Context, before driver.Release, r driver.Request) (driver.Grant, error, error) {
	released := s.Release(ctx, before)
	g, err := s.Take(ctx, r)
	return g, released, err
}

func (s *spy) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	c := call{ctx: ctx, method: "TakeAll", name: batch[0].Name, owner: batch[0].Owner, tokens: batch[0].Tokens,
		ttl: batch[0].TTL}
	return runSpied(ctx, s, c, func() ([]driver.Grant, error) { return s.Engine.TakeAll(ctx, batch) })
}

func (s *spy) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := call{method: "Wait", name: r.Name, owner: r.Owner, mode: r.Mode, tokens: r.Tokens, ttl: r.TTL}
	return runSpied(ctx, s, c, func() (driver.Grant, error) { return s.Engine.Wait(ctx, r) })
}

func (s *spy) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	for i, item := range batch {
		c := call{ctx: ctx, method: "Renew", name: item.Name, owner: item.Owner, mode: item.Mode, ttl: item.TTL}
		report(i, s.do(ctx, c, func() (err error) {
			s.Engine.Renew(ctx, batch[i:i+1], func(_ int, answer error) { err = answer })
			return err
		}))
	}
}

func (s *spy) Release(ctx context.Context, r driver.Release) error {
	c := call{method: "Release", name: r.Name, owner: r.Owner, mode: r.Mode}
	return s.do(ctx, c, func() error { return s.Engine.Release(ctx, r) })
}

func (s *spy) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return runSpied(ctx, s, call{method: "List", name: q.Name},
		func() ([]driver.Status, error) { return s.Engine.List(ctx, q) })
}

func (s *spy) Downgrade(ctx context.Context, h driver.Hold) error {
	c := call{method: "Downgrade", name: h.Name, owner: h.Owner, mode: h.Mode}
	return s.do(ctx, c, func() error { return s.Engine.Downgrade(ctx, h) })
}

func (s *spy) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	return s.do(ctx, call{method: "ForceRelease", name: k.Name},
		func() error { return s.Engine.ForceRelease(ctx, k, token) })
}

func (s *spy) Record(ctx context.Context, r driver.Removal) error {
	c := call{ctx: ctx, method: "Record", name: r.Name}
	return s.do(ctx, c, func() error { return s.Engine.Record(ctx, r) })
}

func (s *spy) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return runSpied(ctx, s, call{method: "Records"}, func() ([]driver.Removal, error) {
		return s.Engine.Records(ctx, limit)
	})
}

func (s *spy) TrySet(ctx context.Context, set driver.LatchSet) (bool, error) {
	c := call{method: "TrySet", name: set.Name, owner: set.ID, ttl: set.TTL}
	return runSpied(ctx, s, c, func() (bool, error) { return s.Engine.TrySet(ctx, set) })
}

func (s *spy) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	c := call{method: "CountDown", name: d.Name, owner: d.ID, ttl: d.TTL}
	return runSpied(ctx, s, c, func() (driver.LatchState, error) { return s.Engine.CountDown(ctx, d) })
}

func (s *spy) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	return runSpied(ctx, s, call{method: "LatchState", name: name},
		func() (driver.LatchState, error) { return s.Engine.LatchState(ctx, name) })
}

func (s *spy) WaitLatch(ctx context.Context, name string, generation uint64) error {
	return s.do(ctx, call{method: "WaitLatch", name: name},
		func() error { return s.Engine.WaitLatch(ctx, name, generation) })
}

func (s *spy) SetData(ctx context.Context, set driver.DataSet) error {
	c := call{method: "SetData", name: set.Hold.Name, owner: set.Hold.Owner}
	return s.do(ctx, c, func() error { return s.Engine.SetData(context.WithoutCancel(ctx), set) })
}

func (s *spy) Data(ctx context.Context, name string) (driver.Data, error) {
	return runSpied(ctx, s, call{method: "Data", name: name},
		func() (driver.Data, error) { return s.Engine.Data(ctx, name) })
}

// onBoth runs a test in virtual time with each sort of engine: one in the memory of the process, and one that is
// reached as a server is. A bubble that ends with goroutines left fails, so each of these tests
// also shows that nothing leaks.
func onBoth(t *testing.T, test func(t *testing.T, engine *spy)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"local", "remote"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				engine := newSpy()
				engine.can.Local = name == "local"
				test(t, engine)
			})
		})
	}
}

// newClient returns a client that is closed at the end of the test.
func newClient(t *testing.T, engine driver.Engine, opts ...leasehold.ClientOption) *leasehold.Client {
	t.Helper()
	if s, ok := engine.(*spy); ok && s.plain {
		engine = struct{ driver.Engine }{s}
	}
	client := leasehold.New(engine, opts...)
	t.Cleanup(func() { client.Close() })
	return client
}

// take calls f, which asks for a lease, and expects to get it. It keeps the lease from being dropped before the end of
// the test.
func take(t *testing.T, f asker) *leasehold.Lease {
	t.Helper()
	lease, err := f(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtime.KeepAlive(lease) })
	return lease
}

// asker is a method that asks for a lease.
type asker = func(context.Context) (*leasehold.Lease, error)

// permits asks a semaphore for n.
func permits(s *leasehold.Semaphore, n int) asker {
	return func(ctx context.Context) (*leasehold.Lease, error) { return s.Acquire(ctx, n) }
}

func release(t *testing.T, lease interface{ Release() error }) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

// lose takes the lock away from its holder, and lets the holder find out.
func lose(t *testing.T, e driver.Engine, kind driver.Kind, lease *leasehold.Lease) {
	t.Helper()
	if err := admin.New(e).ForceRelease(t.Context(), kind, lease.Name(), lease.Token()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(leasehold.DefaultTTL / 2)
	synctest.Wait()
	wantCause(t, lease.Context(), leasehold.ErrLost)
}

// expect expects an error that is each of these.
func expect(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want %v", err, target)
		}
	}
}

// wantCause expects a context that has ended because of cause, or has not ended if that is nil.
func wantCause(t *testing.T, ctx context.Context, cause error) {
	t.Helper()
	switch {
	case cause == nil && ctx.Err() != nil:
		t.Fatalf("the context has ended: %v", context.Cause(ctx))
	case cause != nil && !errors.Is(context.Cause(ctx), cause):
		t.Fatalf("the cause of the context is %v, want %v", context.Cause(ctx), cause)
	}
}

// outcome is the outcome of a call in the background.
type outcome[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// start calls f in the background.
func start[T any](ctx context.Context, f func(context.Context) (T, error)) *outcome[T] {
	o := &outcome[T]{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.value, o.err = f(ctx)
	}()
	return o
}

// settle reports whether the call has returned, once every goroutine of the bubble is idle.
func (o *outcome[T]) settle() bool {
	synctest.Wait()
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// wantWaiting expects that the call has not returned.
func (o *outcome[T]) wantWaiting(t *testing.T) {
	t.Helper()
	if o.settle() {
		t.Fatalf("the call has returned %v, %v; it should wait", o.value, o.err)
	}
}

// wantValue expects that the call has succeeded.
func (o *outcome[T]) wantValue(t *testing.T) T {
	t.Helper()
	if !o.settle() {
		t.Fatal("the call still waits")
	}
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.value
}

// wantErr expects that the call has returned this error.
func (o *outcome[T]) wantErr(t *testing.T, targets ...error) {
	t.Helper()
	if !o.settle() {
		t.Fatal("the call still waits")
	}
	expect(t, o.err, targets...)
}
