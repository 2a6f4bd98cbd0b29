package admin_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// spy is a memory engine that records what operators ask it, and fails where a test says so.
type spy struct {
	*memory.Engine
	can driver.Abilities

	mu            sync.Mutex
	calls         []call
	before, after func(call) error
}

// call is one request of an operator.
type call struct {
	ctx          context.Context
	method, name string
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

// on returns a hook that answers the requests of one method.
func on(method string, answer func(context.Context) error) func(call) error {
	return func(c call) error {
		if c.method != method {
			return nil
		}
		return answer(c.ctx)
	}
}

// forget forgets the requests so far.
func (s *spy) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// methods returns the methods of all requests, in order.
func (s *spy) methods() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		all = append(all, c.method)
	}
	return all
}

// sent returns how many requests of these methods there were; without methods, of all.
func (s *spy) sent(methods ...string) (n int) {
	for _, method := range s.methods() {
		if len(methods) == 0 || slices.Contains(methods, method) {
			n++
		}
	}
	return n
}

// runSpied sends one request through the spy.
func runSpied[T any](ctx context.Context, s *spy, method, name string, f func() (T, error)) (T, error) {
	var none T
	c := call{ctx, method, name}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	before, after := s.before, s.after
	s.mu.Unlock()
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

func (s *spy) do(ctx context.Context, method, name string, f func() error) error {
	_, err := runSpied(ctx, s, method, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s *spy) Abilities() driver.Abilities { return s.can }

func (s *spy) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return runSpied(ctx, s, "List", q.Name, func() ([]driver.Status, error) { return s.Engine.List(ctx, q) })
}

func (s *spy) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	return s.do(ctx, "ForceRelease", k.Name, func() error { return s.Engine.ForceRelease(ctx, k, token) })
}

func (s *spy) Record(ctx context.Context, r driver.Removal) error {
	return s.do(ctx, "Record", r.Name, func() error { return s.Engine.Record(ctx, r) })
}

func (s *spy) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	return runSpied(ctx, s, "Records", "", func() ([]driver.Removal, error) { return s.Engine.Records(ctx, limit) })
}

// inBubble runs a test in virtual time. A bubble that ends with goroutines left fails, so each of these tests also
// shows that nothing leaks.
func inBubble(t *testing.T, test func(t *testing.T, e *spy)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		test(t, &spy{Engine: e, can: e.Abilities()})
	})
}

// newLocker returns a client that locks, and that is closed at the end of the test.
func newLocker(t *testing.T, engine driver.Engine, opts ...leasehold.ClientOption) *leasehold.Client {
	t.Helper()
	c := leasehold.New(engine, opts...)
	t.Cleanup(func() { c.Close() })
	return c
}

// take calls f, which asks for a lease, and expects to get it. It keeps the lease from being dropped before the end of
// the test.
func take(t *testing.T, f func(context.Context) (*leasehold.Lease, error)) *leasehold.Lease {
	t.Helper()
	lease, err := f(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtime.KeepAlive(lease) })
	return lease
}

// permits asks a semaphore for n.
func permits(s *leasehold.Semaphore, n int) func(context.Context) (*leasehold.Lease, error) {
	return func(ctx context.Context) (*leasehold.Lease, error) { return s.Acquire(ctx, n) }
}

// startWaiting calls f, which asks for a lease and has to wait. The channel gets the lease.
func startWaiting(t *testing.T, f func(context.Context) (*leasehold.Lease, error)) <-chan *leasehold.Lease {
	t.Helper()
	granted := make(chan *leasehold.Lease, 1)
	go func() {
		lease, err := f(t.Context())
		if err != nil && t.Context().Err() == nil && !errors.Is(err, leasehold.ErrClosed) {
			t.Error(err)
		}
		granted <- lease
	}()
	wantWaiting(t, granted)
	return granted
}

// wantWaiting expects a caller that has no lease yet.
func wantWaiting(t *testing.T, granted <-chan *leasehold.Lease) {
	t.Helper()
	synctest.Wait()
	if len(granted) != 0 {
		t.Fatal("it does not wait")
	}
}

// errLost is the error of a test's engine when nobody knows what has happened.
var errLost = errors.New("connection reset")

// permanent is the error of a test's engine when trying again is pointless.
var permanent = driver.Permanent(errors.New("no rights"))

// sentinels are all errors that a caller may have to tell apart.
var sentinels = []error{
	leasehold.ErrHeld, leasehold.ErrUnavailable, leasehold.ErrLost, leasehold.ErrUnsupported, leasehold.ErrClosed,
	leasehold.ErrInvalid, leasehold.ErrNotSet, context.Canceled, context.DeadlineExceeded,
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

// expectOnly expects an error that is want and none of the others.
func expectOnly(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, s := range sentinels {
		if is := errors.Is(err, s); is != slices.Contains(want, s) {
			t.Errorf("error %v: is it %q? %v", err, s, is)
		}
	}
}

// expectAbout expects an error that says which name it is about.
func expectAbout(t *testing.T, err error, kind driver.Kind, name string) {
	t.Helper()
	failed, ok := errors.AsType[*leasehold.Error](err)
	if !ok || failed.Name != name || failed.Kind != kind {
		t.Errorf("the error does not say that it is about %s %q: %v", kind, name, err)
	}
}

// expectRefusal expects that an argument is refused, and that the error says which one.
func expectRefusal(t *testing.T, err error, field, value string) {
	t.Helper()
	v, ok := errors.AsType[*leasehold.ValueError](err)
	if !ok {
		t.Errorf("got error %v (%T), want a *ValueError for %s", err, err, field)
		return
	}
	expectOnly(t, err, leasehold.ErrInvalid)
	if v.Field != field || !strings.Contains(v.Value, value) || v.Allowed == "" {
		t.Errorf("got %+v, want field %q and value %q", v, field, value)
	}
	if text := err.Error(); !utf8.ValidString(text) || len(text) > 300 {
		t.Errorf("the error is %d bytes: %s", len(text), text)
	}
}
