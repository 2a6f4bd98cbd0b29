package interrupt

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// patient are options of a client that gives up by itself only after the longest test.
func patient(s *redisserver.Server) *redis.Options {
	return &redis.Options{Addr: s.Addr(), ReadTimeout: time.Hour, MaxRetries: -1, ContextTimeoutEnabled: true}
}

func newClient(t *testing.T, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A request returns when its context is cancelled, although the server does not answer. Its connection is not used
// again.
func TestCancelledRequestReturns(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, patient(s))
	i := Of(c)
	if err := i.process(t.Context(), c, "PING"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(50*time.Millisecond, cancel)
	// The server answers after an hour.
	if err := i.process(ctx, c, "BLPOP", "nothing", "3600"); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was cancelled: %v", err)
	}
	if err := i.process(ctx, c, "PING"); !errors.Is(err, context.Canceled) {
		t.Errorf("a request of a context that has ended: %v", err)
	}
	if err := i.process(t.Context(), c, "PING"); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

// process sends one command.
func (i *Interrupter) process(ctx context.Context, c *redis.Client, words ...any) error {
	own := i.Begin(ctx)
	if own == nil {
		return errors.New("requests cannot be interrupted")
	}
	return own.End(c.Process(own, redis.NewCmd(own, words...)))
}

// A context that ends before, while or after its request uses a connection interrupts that request, and no other one.
func TestOnlyTheRequestOfTheContextIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancelFirst, replaced, want bool
	}{
		"before it uses the connection": {cancelFirst: true, want: true},
		"while it uses the connection":  {want: true},
		"while another request does":    {replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := &Interrupter{ahead: time.Hour}
				ours, theirs := net.Pipe()
				defer theirs.Close()
				conn := newConn(ours, i)
				ctx, cancel := context.WithCancel(t.Context())
				own, other := i.Begin(ctx), i.Begin(t.Context())
				if c.cancelFirst {
					cancel()
					synctest.Wait()
				}
				use := func(r *Context) {
					deadline, _ := r.Deadline()
					if err := conn.SetReadDeadline(deadline); err != nil {
						t.Error(err)
					}
				}
				use(own)
				if c.replaced {
					use(other)
				}
				var later sync.WaitGroup
				later.Go(func() {
					time.Sleep(time.Minute)
					cancel()
					time.Sleep(time.Minute)
					_, _ = theirs.Write([]byte{0})
				})
				_, err := conn.Read(make([]byte, 1))
				if interrupted := errors.Is(err, os.ErrDeadlineExceeded); interrupted != c.want {
					t.Errorf("read: %v; want that it is interrupted: %v", err, c.want)
				}
				conn.Close() // ends the write
				later.Wait()
				if err := own.End(err); c.want && !errors.Is(err, context.Canceled) {
					t.Errorf("the error does not say why: %v", err)
				}
				if err := other.End(errRefused); err != errRefused {
					t.Errorf("another error: %v", err)
				}
			})
		})
	}
}

var errRefused = errors.New("refused")

// What connections know of a request is used again, unless its context has ended: that may be noticed later.
func TestRequestsAreUsedAgain(t *testing.T) {
	t.Parallel()
	i := &Interrupter{ahead: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := i.Begin(ctx)
	second := i.Begin(ctx)
	if first.request == second.request {
		t.Error("two requests at the same time are confused")
	}
	_ = first.End(nil)
	third := i.Begin(ctx)
	if third.request != first.request {
		t.Error("each request takes new memory")
	}
	cancel()
	_, _ = second.End(nil), third.End(nil)
	if last := i.Begin(t.Context()); last.request == second.request || last.request == third.request {
		t.Error("a request that has ended is used again")
	}
	n := 0
	for range i.byZone.Range {
		n++
	}
	if n != 1 {
		t.Errorf("%d requests are known, want the last one", n)
	}
}

// A deadline is passed on to the client, and is never later than that of the context.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	i := &Interrupter{ahead: time.Minute}
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, ctx := range []context.Context{soon, t.Context()} {
		own := i.Begin(ctx)
		got, ok := own.Deadline()
		if end, limited := ctx.Deadline(); !ok || limited && !got.Equal(end) || time.Until(got) > time.Minute {
			t.Errorf("the deadline is %v, %v, and that of the context %v", got, ok, end)
		}
		_ = own.End(nil)
	}
}

// A client whose requests may not be interruptible is left alone.
func TestClientsThatCannotBeInterrupted(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, change := range map[string]func(*redis.Options){
		"does not observe deadlines": func(o *redis.Options) { o.ContextTimeoutEnabled = false },
		"sets no deadlines":          func(o *redis.Options) { o.ReadTimeout = -2 },
		"has hardly any time":        func(o *redis.Options) { o.WriteTimeout = 150 * time.Millisecond },
	} {
		o := patient(s)
		if change(o); Of(newClient(t, o)) != nil {
			t.Errorf("a client that %s can be interrupted", name)
		}
	}
	used := newClient(t, patient(s))
	if err := used.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if Of(used).Begin(t.Context()) != nil {
		t.Error("a client that had a connection before can be interrupted")
	}
	other := newClient(t, patient(s))
	other.AddHook(ownDialer{})
	i := Of(other)
	if err := i.process(t.Context(), other, "PING"); err != nil {
		t.Fatal(err)
	}
	if i.Begin(t.Context()) != nil {
		t.Error("a client that makes other connections can be interrupted")
	}
}

// ownDialer is a hook that makes connections which nobody can interrupt.
type ownDialer struct{}

func (ownDialer) DialHook(redis.DialHook) redis.DialHook {
	return (&net.Dialer{}).DialContext
}

func (ownDialer) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (ownDialer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Many engines may use one client. It gets one hook, and it can be garbage collected.
func TestClientHasOneInterrupter(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, patient(s))
	if first, second := Of(c), Of(c); first == nil || first != second {
		t.Errorf("interrupters %p and %p", first, second)
	}
}

// The client looks whether a connection is one of the operating system.
func TestConnectionsOfTheSystemStaySuch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := newConn(c, &Interrupter{}).(syscall.Conn); !ok {
		t.Error("the connection hides that it is one of the system")
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	wrapped := newConn(ours, &Interrupter{})
	if _, ok := wrapped.(syscall.Conn); ok {
		t.Error("a pipe pretends to be a connection of the system")
	}
	if below, ok := wrapped.(interface{ NetConn() net.Conn }); !ok || below.NetConn() != ours {
		t.Error("the connection hides what is below")
	}
}
