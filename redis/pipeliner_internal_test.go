package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// echoServer is a hook that answers each script with its hash, in place of a server.
type echoServer struct {
	mu       sync.Mutex
	sizes    []int         // how many scripts came in each write
	deadline time.Time     // of the context of the last write
	gate     chan struct{} // each write waits until it is closed
}

func (s *echoServer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *echoServer) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return s.answer(ctx, cmd) }
}

func (s *echoServer) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return s.answer(ctx, cmds...) }
}

func (s *echoServer) answer(ctx context.Context, cmds ...redis.Cmder) error {
	s.mu.Lock()
	s.deadline, _ = ctx.Deadline()
	s.sizes = append(s.sizes, len(cmds))
	gate := s.gate
	s.mu.Unlock()
	<-gate
	for _, cmd := range cmds {
		cmd.(luascript.SingleCommand).SetVal(cmd.Args()[1])
	}
	return nil
}

func noServer(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("there is no server")
}

// pipelinerTest has a pipeliner, and a server that answers once the gate is closed.
type pipelinerTest struct {
	*testing.T
	*pipeliner
	server *echoServer
}

// testPipeliner runs a test in virtual time.
func testPipeliner(t *testing.T, test func(p pipelinerTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &echoServer{gate: make(chan struct{})}
		client := redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379", Dialer: noServer})
		defer client.Close()
		client.AddHook(server)
		e := &Engine{client: client}
		e.pipeliner.init(e)
		test(pipelinerTest{t, &e.pipeliner, server})
		synctest.Wait()
		e.pipeliner.Close()
		e.workers.Close()
	})
}

// start sends a script in the background, and returns when it is sent or queued. The outcome is an error, or nil if the
// answer is that to this script.
func (p pipelinerTest) start(ctx context.Context, name string, leave bool) (outcome <-chan error) {
	done := make(chan error, 1)
	go func() {
		cmd := luascript.SingleCommand{Cmd: redis.NewCmd(ctx, "evalsha", name)}
		err := p.send(ctx, cmd, leave)
		if err == nil && cmd.Val() != name {
			err = fmt.Errorf("script %s got the answer %v", name, cmd.Val())
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

// fill sends scripts until all that come are queued: each sender has one.
func (p pipelinerTest) fill(ctx context.Context) (outcomes []<-chan error) {
	for i := range maxUnpipelined + maxSenders {
		outcomes = append(outcomes, p.start(ctx, fmt.Sprint("first ", i), false))
	}
	return outcomes
}

// wantNil checks outcomes.
func (p pipelinerTest) wantNil(outcomes ...<-chan error) {
	p.Helper()
	for i, outcome := range outcomes {
		if err := <-outcome; err != nil {
			p.Errorf("outcome %d: %v", i, err)
		}
	}
}

// Scripts that come while others are in flight go in one write, and each gets its own answer.
func TestScriptsGoTogether(t *testing.T) {
	t.Parallel()
	testPipeliner(t, func(p pipelinerTest) {
		outcomes := p.fill(p.Context())
		for i := range maxBatch + 1 {
			outcomes = append(outcomes, p.start(p.Context(), fmt.Sprint("then ", i), i%2 == 0))
		}
		if want := []int{1, 1, 1, 1}; !slices.Equal(p.server.sizes, want) {
			p.Errorf("the writes have %v scripts, want %v", p.server.sizes, want)
		}
		p.server.sizes = nil
		close(p.server.gate)
		p.wantNil(outcomes...)
		slices.Sort(p.server.sizes)
		if want := []int{1, maxBatch}; !slices.Equal(p.server.sizes, want) {
			p.Errorf("the next writes have %v scripts, want %v", p.server.sizes, want)
		}
	})
}

// A script whose context ends before it is sent is never sent.
func TestScriptThatIsNotSentHasNoEffect(t *testing.T) {
	t.Parallel()
	for _, leave := range []bool{false, true} {
		testPipeliner(t, func(p pipelinerTest) {
			first := p.fill(p.Context())
			cancelled, cancel := context.WithCancel(p.Context())
			left := p.start(cancelled, "left", leave)
			cancel()
			synctest.Wait()
			select {
			case err := <-left:
				if !driver.HadNoEffect(err) || !errors.Is(err, context.Canceled) {
					p.Errorf("the error is %v, want that it had no effect", err)
				}
			default:
				p.Fatal("it waits beyond the end of its context")
			}
			close(p.server.gate)
			p.wantNil(first...)
			if len(p.server.sizes) != len(first) {
				p.Errorf("%d writes, want %d", len(p.server.sizes), len(first))
			}
		})
	}
}

// A script whose caller may leave ends with its context; the others return the answer, however late it is. Both do so
// without taking the answers of others.
func TestAnswerAfterTheContextHasEnded(t *testing.T) {
	t.Parallel()
	testPipeliner(t, func(p pipelinerTest) {
		alone := p.fill(p.Context())[:maxUnpipelined]
		close(p.server.gate) // the senders are free again, and so are those alone
		p.wantNil(alone...)
		synctest.Wait()
		p.server.gate = make(chan struct{})
		alone = nil
		for i := range maxUnpipelined {
			alone = append(alone, p.start(p.Context(), fmt.Sprint("alone ", i), false))
		}
		ctx, cancel := context.WithCancel(p.Context())
		left, waits := p.start(ctx, "left", true), p.start(ctx, "waits", false)
		cancel()
		synctest.Wait()
		select {
		case err := <-left:
			if driver.HadNoEffect(err) || !driver.IsSpent(err) || !errors.Is(err, context.Canceled) {
				p.Errorf("the error is %v, want that the outcome is unknown and the owner spent", err)
			}
		default:
			p.Fatal("it waits beyond the end of its context")
		}
		select {
		case err := <-waits:
			p.Errorf("a script has not waited for its answer: %v", err)
		default:
		}
		later := p.start(p.Context(), "later", true)
		close(p.server.gate)
		p.wantNil(append(alone, waits, later)...)
		for i := range 8 { // nothing of "left" is used again
			p.wantNil(p.start(p.Context(), fmt.Sprint("again ", i), true))
		}
	})
}

// The deadline of one script does not end a write that has another one.
func TestPipelineLastsUntilTheLastDeadline(t *testing.T) {
	t.Parallel()
	testPipeliner(t, func(p pipelinerTest) {
		outcomes := p.fill(p.Context())
		last := time.Now().Add(time.Hour)
		for _, deadline := range []time.Time{last.Add(-time.Minute), last, last.Add(-time.Second)} {
			ctx, cancel := context.WithDeadline(p.Context(), deadline)
			defer cancel()
			outcomes = append(outcomes, p.start(ctx, deadline.String(), true))
		}
		gate := p.server.gate
		p.server.gate = make(chan struct{})
		close(gate)
		synctest.Wait()
		if !p.server.deadline.Equal(last) {
			p.Errorf("the write ends at %v, want %v", p.server.deadline, last)
		}
		close(p.server.gate)
		p.wantNil(outcomes...)
	})
}

// A server that does not answer keeps a limited number of writes. Scripts beyond those end at once.
func TestPipelinesToAServerThatHangs(t *testing.T) {
	t.Parallel()
	testPipeliner(t, func(p pipelinerTest) {
		var outcomes []<-chan error
		busy := 0
		for i := range 4 * maxOverdue {
			ctx, cancel := context.WithTimeout(p.Context(), time.Second)
			defer cancel()
			outcome := p.start(ctx, fmt.Sprint(i), true)
			outcomes = append(outcomes, outcome)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			select {
			case err := <-outcome:
				if errors.Is(err, errBusy) {
					busy++
				}
				if err == nil {
					p.Errorf("script %d: there was no answer", i)
				}
			default:
				if i >= maxUnpipelined { // those go as the client sends them
					p.Errorf("script %d: no error after its deadline", i)
				}
			}
		}
		if writes := len(p.server.sizes); writes != maxUnpipelined+maxOverdue {
			p.Errorf("%d writes, want %d", writes, maxUnpipelined+maxOverdue)
		}
		if want := len(outcomes) - len(p.server.sizes); busy != want {
			p.Errorf("%d scripts were refused, want %d", busy, want)
		}
		close(p.server.gate)
		p.wantNil(outcomes[:maxUnpipelined]...)
		synctest.Wait()
		p.wantNil(p.start(p.Context(), "after", true))
	})
}

// A closed engine answers what waits in the queue, and what comes later.
func TestScriptsOfAClosedEngine(t *testing.T) {
	t.Parallel()
	testPipeliner(t, func(p pipelinerTest) {
		first := p.fill(p.Context())
		queued := p.start(p.Context(), "queued", false)
		p.Close()
		later := p.start(p.Context(), "later", true)
		for name, outcome := range map[string]<-chan error{"queued": queued, "later": later} {
			select {
			case err := <-outcome:
				if !errors.Is(err, errEngineClosed) {
					p.Errorf("%s: %v", name, err)
				}
			default:
				p.Errorf("%s: no answer after Close", name)
			}
		}
		close(p.server.gate)
		p.wantNil(first...)
	})
}
