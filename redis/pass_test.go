package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// nodeEngine returns an engine as redlock uses it. What is passed to its waiters that have given up comes to left.
func nodeEngine(t *testing.T, s *redisserver.Server) (e *redis.Engine, left chan string) {
	t.Helper()
	e, left = unguarded(t, standalone(s)), make(chan string, 4)
	e.OnLeftGrant(func(k driver.Key, owner string) { left <- k.Name + " " + owner })
	return e, left
}

// passTo returns a pass from one request's owner to a new one.
func passTo(from driver.Request) quorumnode.Pass {
	to := from
	to.Owner, to.Place, to.Join, to.TTL = rand.Text(), "", false, 2*time.Second
	floor := uint64(time.Now().UnixMicro())
	return quorumnode.Pass{Hold: hold(from), To: quorumnode.Request{Request: to, Floor: floor}}
}

// outcomeOf waits for what a request tells done.
func outcomeOf(
	t *testing.T, start func(ctx context.Context, done func(passed bool, err error)),
) (passed bool, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan struct{})
	start(ctx, func(p bool, e error) {
		passed, err = p, e
		close(ended)
	})
	<-ended
	return passed, err
}

func pass(t *testing.T, e *redis.Engine, p quorumnode.Pass) (passed bool, err error) {
	t.Helper()
	return outcomeOf(t, func(ctx context.Context, done func(bool, error)) { e.StartPass(ctx, p, done) })
}

func handOver(t *testing.T, e *redis.Engine, h quorumnode.HandOver) (passed bool, err error) {
	t.Helper()
	return outcomeOf(t, func(ctx context.Context, done func(bool, error)) { e.StartHandOver(ctx, h, done) })
}

// expectHolder fails the test unless only one of two owners holds the name of a pass.
func expectHolder(t *testing.T, e *redis.Engine, p quorumnode.Pass, isNew bool) {
	t.Helper()
	to := driver.Hold{Key: p.Hold.Key, Owner: p.To.Owner}
	before, after := renewOne(t.Context(), e, p.Hold, time.Minute), renewOne(t.Context(), e, to, time.Minute)
	if (before == nil) == isNew || (after == nil) != isNew {
		t.Errorf("renewals: %v by the owner before, and %v by the new one, which should hold: %v", before, after, isNew)
	}
}

// A lock is passed to another owner with the token that the pass names, or nothing is done.
func TestPass(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, _ := nodeEngine(t, s)
	r := lasting("a", time.Minute)
	g := mustTake(t, e, r)

	p := passTo(r)
	p.To.Floor = g.Token // a token that was granted before
	if passed, err := pass(t, e, p); passed || err != nil {
		t.Errorf("with an old token: %v, %v", passed, err)
	}
	expectHolder(t, e, p, false)
	waiter := mustJoin(t, e, lasting("a", time.Minute))
	p = passTo(r)
	if passed, err := pass(t, e, p); passed || !errors.Is(err, driver.ErrHeld) {
		t.Errorf("while somebody waits: %v, %v", passed, err)
	}
	expectHolder(t, e, p, false)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(waiter)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("release of the waiter: %v", err)
	}

	p = passTo(r)
	if passed, err := pass(t, e, p); !passed || err != nil {
		t.Errorf("by the holder: %v, %v", passed, err)
	}
	expectHolder(t, e, p, true)
	if is := command(t, s, "GET", "{lock:a}:token"); is != formatToken(p.To.Floor) {
		t.Errorf("the last token is %v, want %d", is, p.To.Floor)
	}
	late := passTo(r) // by the owner that has passed it on
	if passed, err := pass(t, e, late); passed || err != nil {
		t.Errorf("by an owner that does not hold: %v, %v", passed, err)
	}
	expectHolder(t, e, quorumnode.Pass{Hold: late.Hold, To: p.To}, true)
	release(t, e, p.To.Request)
	if passed, err := pass(t, e, late); !passed || !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("of a free lock: %v, %v, want a grant, and that it was not held", passed, err)
	}
	expectHolder(t, e, late, true)
}

// Passes of many goroutines go in one script, and each has its own answer.
func TestPassesGoTogether(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, _ := nodeEngine(t, s)
	type result struct {
		i      int
		passed bool
		err    error
	}
	const n = 60
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var passes []quorumnode.Pass
	for i := range n {
		r := lasting(string(rune('a'+i%26))+formatToken(uint64(i)), time.Minute)
		if i%3 > 0 {
			mustTake(t, e, r)
		}
		p := passTo(r)
		if i%3 == 1 {
			p.Hold.Owner = "somebody else"
		}
		passes = append(passes, p)
	}
	results := make(chan result, n)
	for i, p := range passes {
		e.StartPass(ctx, p, func(passed bool, err error) { results <- result{i, passed, err} })
		if i%7 == 0 { // others go with them
			r := lasting("free", time.Minute)
			e.StartTake(ctx, quorumnode.Request{Request: r}, func(driver.Grant, error) {})
			e.StartRelease(ctx, driver.Release{Hold: hold(r)}, func(error) {})
		}
	}
	for range n {
		r := <-results
		wantErr := error(nil)
		if r.i%3 == 0 {
			wantErr = driver.ErrNotHeld
		}
		if r.passed != (r.i%3 != 1) || !errors.Is(r.err, wantErr) {
			t.Errorf("pass %d: %v, %v", r.i, r.passed, r.err)
		}
	}
}

func formatToken(token uint64) string { return strconv.FormatUint(token, 10) }

// grantedAt returns the time in the value of a lock.
func grantedAt(value string) string { return strings.Fields(value)[3] }

// turnOf waits for the turn of a waiter in the background.
func turnOf(t *testing.T, e *redis.Engine, r driver.Request) <-chan quorumnode.Grant {
	t.Helper()
	got := make(chan quorumnode.Grant, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	go func() {
		defer close(got)
		turn, err := e.WaitForGrant(ctx, quorumnode.Request{Request: r})
		if err != nil {
			t.Errorf("WaitForGrant: %v", err)
		}
		got <- turn
	}()
	return got
}

// queueOf returns a waiter that was granted the name and told who waits behind it, and that one's turn.
func queueOf(
	t *testing.T, e *redis.Engine, second, third driver.Request,
) (first quorumnode.Grant, turn <-chan quorumnode.Grant) {
	t.Helper()
	holder := lasting(second.Name, time.Minute)
	mustTake(t, e, holder)
	firstTurn := turnOf(t, e, mustJoin(t, e, second))
	turn = turnOf(t, e, mustJoin(t, e, third))
	release(t, e, holder)
	if first = <-firstTurn; first.Owner != "" || first.Agreed || first.Next == nil || first.Next.TTL != third.TTL ||
		first.Next.Holder != third.Holder {
		t.Fatalf("the first waiter is told %+v, behind it %+v", first, first.Next)
	}
	return first, turn
}

// The first waiter is passed the lock as another owner, and told so. Its lease counts from when the passing began.
func TestHandOverToTheFirstWaiter(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, _ := nodeEngine(t, s)
	second, third := lasting("a", time.Minute), lasting("a", 50*time.Second)
	third.Holder = "the third"
	first, turn := queueOf(t, e, second, third)
	h := quorumnode.HandOver{Pass: passTo(second), Next: *first.Next, Began: driver.Now()}
	h.To.TTL = 2 * time.Second
	if passed, err := handOver(t, e, h); !passed || err != nil {
		t.Fatalf("%v, %v", passed, err)
	}
	got := <-turn
	if got.Owner != h.To.Owner || !got.Agreed || got.Polled || got.Token != h.To.Floor || got.TTL != 2*time.Second ||
		got.Next != nil {
		t.Errorf("the waiter is told %+v", got)
	}
	if early := h.Began.Since(got.Start); early < 0 || early > patience {
		t.Errorf("its lease counts from %v before the passing began", early)
	}
	expectHolder(t, e, h.Pass, true)
	if is := command(t, s, "GET", "lock:a").(string); is != h.To.Owner+"\n"+formatToken(h.To.Floor)+" 1 "+grantedAt(is)+
		"\nthe third\n" {
		t.Errorf("the value is %q", is)
	}
	release(t, e, h.To.Request)
	if n := command(t, s, "EXISTS", "lock:a", "{lock:a}:queue", "{lock:a}:info"); n != int64(0) {
		t.Errorf("%v keys are left", n)
	}
}

// Whatever is not as the holder was told, nothing is done.
func TestHandOverThatIsRefused(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for name, change := range map[string]func(*quorumnode.HandOver){
		"another waiter": func(h *quorumnode.HandOver) { h.Next.Waiter = "9" + h.Next.Waiter },
		"too late": func(h *quorumnode.HandOver) {
			h.Began, h.Next.ServerMillis = h.Next.Received, h.Next.ServerMillis-600
		},
		"the clock was set back": func(h *quorumnode.HandOver) { h.Next.ServerMillis += time.Minute.Milliseconds() },
		"the clock was set back by less": func(h *quorumnode.HandOver) {
			h.To.TTL, h.Began = time.Minute, h.Began.Add(-10*time.Second)
			h.Next.Received, h.Next.ServerMillis = h.Began, h.Next.ServerMillis-1000
		},
		"an old token":   func(h *quorumnode.HandOver) { h.To.Floor = 1 },
		"not the holder": func(h *quorumnode.HandOver) { h.Hold.Owner = "somebody else" },
	} {
		e, _ := nodeEngine(t, s)
		second, third := lasting(name, time.Minute), lasting(name, time.Minute)
		first, turn := queueOf(t, e, second, third)
		h := quorumnode.HandOver{Pass: passTo(second), Next: *first.Next, Began: driver.Now()}
		change(&h)
		if passed, err := handOver(t, e, h); passed || err != nil {
			t.Errorf("%s: %v, %v", name, passed, err)
		}
		h.Hold = hold(second)
		expectHolder(t, e, h.Pass, false)
		release(t, e, second)
		if got := <-turn; got.Owner != "" || got.Token == 0 {
			t.Errorf("%s: then the waiter is told %+v", name, got)
		}
		release(t, e, third)
	}
}

// A waiter that does not receive messages any more is passed nothing.
func TestHandOverToADeadWaiter(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, _ := nodeEngine(t, s)
	dead, _ := nodeEngine(t, s)
	holder, second := lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, e, holder)
	firstTurn := turnOf(t, e, mustJoin(t, e, second))
	mustJoin(t, dead, lasting("a", time.Minute))
	release(t, e, holder)
	first := <-firstTurn
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody is subscribed", func() bool {
		reply, _ := s.Command("PUBSUB", "NUMPAT")
		channels, _ := s.Command("PUBSUB", "CHANNELS")
		return reply != nil && len(channels.([]any)) == 1
	})
	h := quorumnode.HandOver{Pass: passTo(second), Next: *first.Next, Began: driver.Now()}
	if passed, err := handOver(t, e, h); passed || err != nil {
		t.Errorf("%v, %v", passed, err)
	}
	expectHolder(t, e, h.Pass, false)
}

// What was passed to a waiter that gives up before it has been told is named to the quorum, which releases it.
func TestTurnOfAWaiterThatGivesUp(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, _ := nodeEngine(t, s)
	other, left := nodeEngine(t, s)
	holder, second, third := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, e, holder)
	firstTurn := turnOf(t, e, mustJoin(t, e, second))
	mustJoin(t, other, third) // and does not come to wait
	release(t, e, holder)
	first := <-firstTurn
	h := quorumnode.HandOver{Pass: passTo(second), Next: *first.Next, Began: driver.Now()}
	if passed, err := handOver(t, e, h); !passed || err != nil {
		t.Fatalf("%v, %v", passed, err)
	}
	if err := other.Release(t.Context(), driver.Release{Hold: hold(third)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("release: %v", err)
	}
	if got := <-left; got != "a "+h.To.Owner {
		t.Errorf("the quorum is told of %q", got)
	}
}
