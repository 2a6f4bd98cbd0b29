//go:build unix

package torture

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/once"
)

var tickTime = flag.Duration("ticks", 6*time.Second, "how long TestTicksOfKilledProcesses disturbs processes; "+
	"make ticks does it for two minutes")

// Of five processes that run a tick five times a second, one is killed or stopped each second. Every tick has run, none
// is recorded as done twice, and the records are in order. What killed processes have done is done again, under a
// larger token; what stopped ones still want to do is refused.
func TestTicksOfKilledProcesses(t *testing.T) {
	var faults tickFaults
	t.Cleanup(func() { // a few seconds may be too short for them
		if *tickTime >= time.Minute && !t.Failed() && (faults.again.Load() == 0 || faults.refused.Load() == 0) {
			t.Errorf("%d effects came again, and %d were refused: that shows nothing",
				faults.again.Load(), faults.refused.Load())
		}
	})
	for engine, start := range map[string]func(t *testing.T) string{
		"redis": func(t *testing.T) string {
			return redisserver.ForTest(t, redisserver.Config{}).URL() + "?guard=off"
		},
		"postgres": func(t *testing.T) string { return postgresserver.ForTest(t, postgresserver.Config{}).URL() },
		"etcd":     func(t *testing.T) string { return "etcd://" + etcdserver.ForTest(t, etcdserver.Config{}).Addr() },
		"sqlite":   func(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "locks") },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			testTicks(t, start(t), &faults)
		})
	}
}

func testTicks(t *testing.T, url string, faults *tickFaults) {
	r := newTickRegister(t)
	e, err := openURL(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	c := leasehold.New(e, leasehold.WithRequestTimeout(answer))
	t.Cleanup(func() { _, _ = c.Close(), e.Close() })
	job := once.New(c, ticksName)
	watched := watchRuns(t, job)
	group := r.startGroup("once", url)
	await(t, "a tick is done", func() bool { return !doneTick(t, job).IsZero() })
	group.disturb(*tickTime)
	until := time.Now()
	await(t, "the ticks are done", func() bool { return doneTick(t, job).After(until) })
	group.kill()
	runs := watched()
	if n := group.disturbed; n < int(*tickTime/time.Second)/2 { // a busy machine needs longer
		t.Errorf("%d processes were killed or stopped", n)
	}
	r.check(t, runs, faults)
}

// tickFaults counts what a lock alone does not prevent, on all engines together.
type tickFaults struct{ again, refused atomic.Int64 }

func doneTick(t *testing.T, j *once.Job) time.Time {
	t.Helper()
	s, err := j.State(t.Context())
	if err != nil {
		t.Logf("the state: %v", err) // the machine may be busy
	}
	return s.Done.Time()
}

// watchRuns notes all runs that a job records, until the function that it returns is called, which returns them in the
// order in which they were recorded.
func watchRuns(t *testing.T, j *once.Job) func() []once.Run {
	ctx, cancel := context.WithCancel(t.Context())
	var runs []once.Run
	look := func(ctx context.Context) {
		s, err := j.State(ctx)
		if err != nil {
			return
		}
		var fresh []once.Run
		for _, run := range s.Runs {
			if len(runs) > 0 && run == runs[len(runs)-1] {
				break
			}
			fresh = append(fresh, run)
		}
		slices.Reverse(fresh)
		runs = append(runs, fresh...)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			look(ctx)
			pause(ctx, tickPeriod/4)
		}
	})
	return func() []once.Run {
		cancel()
		all.Wait()
		look(t.Context())
		return runs
	}
}

// tickRegister is what the work of the processes has an effect on. It refuses tokens that are smaller than one that has
// come before.
type tickRegister struct {
	*testing.T
	listener net.Listener
	gate     *fence.Gate

	mu      sync.Mutex
	begun   []registered
	effects map[int64][]uint64 // tokens by tick
	refused int
}

func newTickRegister(t *testing.T) *tickRegister {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &tickRegister{T: t, listener: l, gate: fence.NewGate(new(fence.Memory)), effects: map[int64][]uint64{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return r
}

func (r *tickRegister) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		said, err := parseRegistered(lines.Text())
		if err != nil {
			return // it was killed while it wrote
		}
		if _, err := fmt.Fprintln(conn, r.note(said)); err != nil {
			return
		}
	}
}

func (r *tickRegister) note(said registered) string {
	if said.what == "begin" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.begun = append(r.begun, said)
		return "ok"
	}
	err := r.gate.Do(context.Background(), ticksName, said.token, func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.effects[said.tick] = append(r.effects[said.tick], said.token)
		return nil
	})
	if err == nil {
		return "ok"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
	return err.Error()
}

// working returns the process that has begun to work last.
func (r *tickRegister) working() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.begun) == 0 {
		return 0
	}
	return r.begun[len(r.begun)-1].pid
}

// doubles returns how many effects ticks have had besides the first one.
func (r *tickRegister) doubles() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tokens := range r.effects {
		n += len(tokens) - 1
	}
	return n
}

// check compares what was recorded with what was done.
func (r *tickRegister) check(t *testing.T, runs []once.Run, faults *tickFaults) {
	t.Helper()
	again := r.doubles()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d ticks were recorded; %d effects came again after a kill, and %d were refused",
		len(runs), again, r.refused)
	if want := int(*tickTime / tickPeriod); len(runs) < want {
		t.Errorf("%d ticks are recorded, want at least %d", len(runs), want)
	}
	faults.again.Add(int64(again))
	faults.refused.Add(int64(r.refused))
	for i, run := range runs {
		if run.Error != "" {
			t.Errorf("a run is recorded with an error: %+v", run)
		}
		if !slices.Contains(r.effects[run.Tick.Time().UnixMilli()], run.Token) {
			t.Errorf("a run is recorded that has done nothing: %+v", run)
		}
		if i == 0 {
			continue
		}
		before := runs[i-1]
		if d := run.Tick.Time().Sub(before.Tick.Time()); d != tickPeriod || run.Token < before.Token {
			t.Errorf("tick %v (token %d) follows %v (token %d)", run.Tick, run.Token, before.Tick, before.Token)
		}
	}
}

// Without a record of ticks, a lock keeps two runs apart, and not twice the same: who comes to a tick late runs it
// again.
func TestTicksUnderALockAloneRunAgain(t *testing.T) {
	t.Parallel()
	r := newTickRegister(t)
	group := r.startGroup("lock", "sqlite://"+filepath.Join(t.TempDir(), "locks"))
	for began := time.Now(); r.doubles() == 0; {
		if time.Since(began) > patience {
			t.Fatal("no tick has run twice")
		}
		group.disturb(time.Second)
	}
	group.kill()
	t.Logf("%d runs more than ticks", r.doubles())
}

// tickGroup are five processes.
type tickGroup struct {
	*tickRegister
	mode, url string
	all       []*exec.Cmd
	chance    *rand.Rand
	disturbed int
}

func (r *tickRegister) startGroup(mode, url string) *tickGroup {
	r.Helper()
	g := &tickGroup{tickRegister: r, mode: mode, url: url, chance: rand.New(rand.NewPCG(1, 2))}
	r.Cleanup(g.kill)
	for range 5 {
		g.all = append(g.all, g.start())
	}
	return g
}

func (g *tickGroup) start() *exec.Cmd {
	g.Helper()
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", ticksVariable, g.mode, g.listener.Addr(), g.url))
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		g.Fatal(err)
	}
	return p
}

// disturb kills or stops a process each second: every other time the one that works.
func (g *tickGroup) disturb(d time.Duration) {
	g.Helper()
	var stopped sync.WaitGroup
	defer stopped.Wait()
	for began := time.Now(); time.Since(began) < d; g.disturbed++ {
		pause(g.Context(), time.Second)
		i := g.chance.IntN(len(g.all))
		if works := g.working(); g.disturbed%2 == 0 {
			i = max(0, slices.IndexFunc(g.all, func(p *exec.Cmd) bool { return p.Process.Pid == works }))
		}
		p := g.all[i]
		if g.chance.IntN(2) == 0 {
			end(p)
			g.all[i] = g.start()
			continue
		}
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			g.Error(err)
		}
		length := time.Second/2 + time.Duration(g.chance.Int64N(int64(2*time.Second)))
		stopped.Go(func() {
			pause(g.Context(), length)
			_ = p.Process.Signal(syscall.SIGCONT) // it may have been killed
		})
	}
}

func end(p *exec.Cmd) {
	_ = p.Process.Kill()
	_ = p.Wait() // the error says that it was killed
}

func (g *tickGroup) kill() {
	for _, p := range g.all {
		end(p)
	}
	g.all = nil
}
