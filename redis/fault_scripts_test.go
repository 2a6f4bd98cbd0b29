package redis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func flushScripts(t *testing.T, s *redisserver.Server) {
	t.Helper()
	command(t, s, "SCRIPT", "FLUSH")
}

// A server may forget its scripts at any time. Nobody notices.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, client := range map[string]newClient{"Plain": standalone(s), "AutoPipeline": pipelined(standalone(s))} {
		through, healthy := unguarded(t, client), unguarded(t, client)
		for _, op := range operations {
			x := &operationTest{t: t, s: s, name: "<" + name + "-" + op.name + ">", faulty: through, healthy: healthy,
				endFault: func() {}}
			x.startFault = func() { flushScripts(t, s) }
			if err := op.check(x); err != nil &&
				!slices.ContainsFunc(op.refusals, func(no error) bool { return errors.Is(err, no) }) {
				t.Errorf("%s: %v", x.name, err)
			}
		}
	}
}

// Many leases are renewed together, some of them shared: all are renewed although the scripts are gone.
func TestScriptFlushBeforeABatch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	var batch []driver.Renewal
	for i := range 300 {
		r := lasting(string(rune('A'+i)), 30*time.Second)
		switch i % 3 {
		case 1:
			r = shared(r)
		case 2:
			r = permit(r)
		}
		mustTake(t, e, r)
		h := hold(r)
		if i%6 == 0 { // the renewal does not know that the lease is shared now
			if err := e.Downgrade(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
		batch = append(batch, driver.Renewal{Hold: h, TTL: time.Minute})
	}
	for range 3 {
		flushScripts(t, s)
		var mu sync.Mutex
		reported := 0
		e.Renew(t.Context(), batch, func(i int, err error) {
			mu.Lock()
			defer mu.Unlock()
			reported++
			if err != nil {
				t.Errorf("renewal %d: %v", i, err)
			}
		})
		if reported != len(batch) {
			t.Errorf("%d of %d were reported", reported, len(batch))
		}
	}
}

// Waiters get the lock in their order although the scripts go while they wait.
func TestScriptFlushWhileOthersWait(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	before := lasting("a", 30*time.Second)
	mustTake(t, a, before)
	for range 5 {
		next := mustJoin(t, b, lasting("a", 30*time.Second))
		got := startWait(t, b, next)
		flushScripts(t, s)
		began := time.Now()
		release(t, a, before)
		if took := granted(t, got).at.Sub(began); took > soon {
			t.Errorf("the waiter had the lock after %v, want at once", took)
		}
		a, b, before = b, a, next
	}
	release(t, a, before)
	checkNothingLeft(t, s)
}

// Scripts go again and again while many goroutines take turns: no two hold together, and nobody has to wait until it
// polls.
func TestScriptFlushUnderLoad(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	var check exclusionCheck
	for range 3 {
		e := unguarded(t, standalone(s))
		for range 4 {
			work.Go(func() {
				for i := range 50 {
					if err := check.takeTurn(ctx, e); err != nil {
						t.Error(err)
						return
					}
					if i%10 == 0 {
						if _, err := s.Command("SCRIPT", "FLUSH"); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	}
	work.Wait()
	checkNothingLeft(t, s)
}

// The scripts may go between two requests of one batch, and the server with them. Each renewal that is not certain is
// reported as unknown.
func TestScriptsAndServerAreLostDuringABatch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := redisserver.ProxyForTest(t, s.Addr())
	e := unguarded(t, noRetries(p.Addr()))
	downgraded, reader := lasting("a", time.Minute), shared(lasting("b", time.Minute))
	mustTake(t, e, downgraded)
	if err := e.Downgrade(t.Context(), hold(downgraded)); err != nil {
		t.Fatal(err)
	}
	mustTake(t, e, reader)
	command(t, s, "CONFIG", "RESETSTAT")
	scripts := 0
	p.Intercept(func(request []byte) redisserver.Action {
		switch words := redisserver.Words(request); {
		case isScript(request):
			if scripts++; scripts == 2 { // the server has done the first, and has forgotten the second
				done := func() bool {
					is, err := s.Info("cmdstat_evalsha")
					return err != nil || strings.HasPrefix(is, "calls=1,")
				}
				for !done() {
					time.Sleep(time.Millisecond)
				}
				if _, err := s.Command("SCRIPT", "FLUSH"); err != nil {
					t.Error(err)
				}
			}
		case len(words) > 0 && words[0] == "info":
			return redisserver.CutBefore
		}
		return redisserver.Pass
	})
	batch := []driver.Renewal{{Hold: hold(downgraded), TTL: 2 * time.Minute},
		{Hold: hold(reader), TTL: 2 * time.Minute}}
	outcomes := make([]error, len(batch))
	e.Renew(t.Context(), batch, func(i int, err error) { outcomes[i] = err })
	for i, err := range outcomes {
		if err == nil || driver.IsNo(err) {
			t.Errorf("renewal %d: %v, want an unknown outcome", i, err)
		}
	}
	p.Intercept(nil)
	for _, r := range batch {
		if err := renewOne(t.Context(), e, r.Hold, r.TTL); err != nil {
			t.Errorf("renewal after that: %v", err)
		}
	}
}
