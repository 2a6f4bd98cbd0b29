package localqueue

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// waitingCaller is a caller that waits in the queue.
type waitingCaller struct {
	done    chan struct{}
	value   string
	hasTurn bool
	sawHeld bool
}

func wait(ctx context.Context, q *Queue[string, int, string], stop <-chan struct{}, k string, want int) *waitingCaller {
	p := &waitingCaller{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		t := q.Wait(ctx, stop, k, 0, want)
		p.value, p.hasTurn, p.sawHeld = t.Value, t.HasTurn, t.Held
	}()
	synctest.Wait()
	return p
}

func (p *waitingCaller) settle() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func inBubble(t *testing.T, test func(t *testing.T, q *Queue[string, int, string])) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, new(Queue[string, int, string])) })
}

func TestOneHasTheTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		if !q.Try("a").HasTurn || q.Try("a").HasTurn {
			t.Error("the first of two tries must have the turn")
		}
		if !q.Try("b").HasTurn {
			t.Error("keys must have nothing to do with each other")
		}
		q.EndTurn("a")
		if !q.Try("a").HasTurn {
			t.Error("a turn that has ended must be free")
		}
		q.EndTurn("a")
		if p := wait(t.Context(), q, nil, "a", 0); !p.settle() || !p.hasTurn || p.value != "" {
			t.Error("who waits for a free turn must have it at once")
		}
	})
}

func TestTurnsGoRoundInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		var waiters []*waitingCaller
		for i := range 10 {
			waiters = append(waiters, wait(t.Context(), q, nil, "a", i))
		}
		if n := q.Waiting("a"); n != 10 {
			t.Errorf("%d wait, want 10", n)
		}
		for i, p := range waiters {
			if p.settle() {
				t.Fatalf("place %d has its turn too soon", i)
			}
			if q.Try("a").HasTurn {
				t.Fatal("a try has passed those who wait")
			}
			q.EndTurn("a")
			if !p.settle() || !p.hasTurn || p.value != "" {
				t.Fatalf("place %d: %+v", i, p)
			}
		}
		q.EndTurn("a")
		if len(q.queues) != 0 || q.Waiting("a") != 0 {
			t.Error("something is left of a key that nobody wants")
		}
	})
}

func TestAWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]int{"first": 0, "middle": 1, "last": 2} {
		t.Run(name, func(t *testing.T) {
			for _, byStop := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					q := new(Queue[string, int, string])
					q.Try("a")
					ctx, cancel := context.WithCancel(t.Context())
					stop := make(chan struct{})
					var waiters []*waitingCaller
					for i := range 3 {
						if i == who {
							waiters = append(waiters, wait(ctx, q, stop, "a", i))
						} else {
							waiters = append(waiters, wait(t.Context(), q, nil, "a", i))
						}
					}
					if byStop {
						close(stop)
					}
					cancel()
					if gone := waiters[who]; !gone.settle() || gone.hasTurn {
						t.Fatalf("who has given up: %+v", gone)
					}
					if n := q.Waiting("a"); n != 2 {
						t.Errorf("%d wait, want 2", n)
					}
					for _, p := range slices.Delete(waiters, who, who+1) {
						q.EndTurn("a")
						if !p.settle() || !p.hasTurn {
							t.Fatal("the others must have their turn")
						}
					}
				})
			}
		})
	}
}

func TestHandOverPassesAValue(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		never := func(int) (string, bool) { t.Error("there is nobody to give to"); return "", true }
		q.Try("a")
		if q.PassTurn("a", never) {
			t.Error("passed on to nobody")
		}
		first, second := wait(t.Context(), q, nil, "a", 7), wait(t.Context(), q, nil, "a", 8)
		refuse := func(want int) (string, bool) {
			if want != 7 {
				t.Errorf("the next waiter wants %d", want)
			}
			return "no", false
		}
		if q.PassTurn("a", refuse) || first.settle() || q.Waiting("a") != 2 {
			t.Error("a hand-over that is refused must leave everything as it is")
		}
		if !q.PassTurn("a", func(int) (string, bool) { return "value", true }) {
			t.Error("not passed on")
		}
		if !first.settle() || !first.hasTurn || first.value != "value" || second.settle() {
			t.Errorf("got %+v and %+v", first, second)
		}
		q.EndTurn("a") // the turn came with the value
		if !second.settle() || !second.hasTurn || second.value != "" {
			t.Errorf("got %+v", second)
		}
	})
}

// A waiter learns whether it was known at any moment of its wait that the key is held.
func TestWaitersLearnThatTheKeyIsHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		before := wait(t.Context(), q, nil, "a", 0)
		ctx, cancel := context.WithCancel(t.Context())
		gone := wait(ctx, q, nil, "a", 0)
		if q.Held("a") || q.Held("b") {
			t.Error("nobody has said so")
		}
		cancel()
		if !gone.settle() || gone.hasTurn || gone.sawHeld {
			t.Errorf("who has gone before anything was known: %+v", gone)
		}
		q.SetHeld("a", true)
		during := wait(t.Context(), q, nil, "a", 0)
		q.SetHeld("a", false)
		after := wait(t.Context(), q, nil, "a", 0)
		for _, p := range []struct {
			*waitingCaller
			held bool
		}{{before, true}, {during, true}, {after, false}} {
			q.EndTurn("a")
			if !p.settle() || !p.hasTurn || p.waitingCaller.sawHeld != p.held {
				t.Errorf("got %+v, want that it was known: %v", p.waitingCaller, p.held)
			}
			if q.Held("a") {
				t.Error("a caller that has just got its turn does not know whether it is held")
			}
		}
		q.SetHeld("a", true)
		q.EndTurn("a")
		if q.Try("a"); q.Held("a") {
			t.Error("what was known of a queue is known of the next one")
		}
	})
}

// WaitUnlessHeld waits until the key is known to be held, or for its turn.
func TestWaitUnlessHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		look := func(ctx context.Context) <-chan Turn[string] {
			c := make(chan Turn[string], 1)
			go func() { c <- q.WaitUnlessHeld(ctx, nil, "a", 0) }()
			synctest.Wait()
			return c
		}
		if turn := <-look(t.Context()); !turn.HasTurn {
			t.Errorf("a free turn: %+v", turn)
		}
		one, patient, two := look(t.Context()), wait(t.Context(), q, nil, "a", 0), look(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		gone := look(ctx)
		cancel()
		if turn := <-gone; turn.HasTurn || turn.Held {
			t.Errorf("who has given up: %+v", turn)
		}
		give := func(int) (string, bool) { t.Error("a value for a caller of WaitUnlessHeld"); return "", true }
		if q.PassTurn("a", give) {
			t.Error("passed on")
		}
		q.EndTurn("a")
		if turn := <-one; !turn.HasTurn || turn.Held {
			t.Errorf("the next waiter: %+v", turn)
		}
		q.SetHeld("a", true)
		if turn := <-two; turn.HasTurn || !turn.Held {
			t.Errorf("who has learned it: %+v", turn)
		}
		if turn := <-look(t.Context()); turn.HasTurn || !turn.Held {
			t.Errorf("who could know at once: %+v", turn)
		}
		if patient.settle() || q.Waiting("a") != 1 {
			t.Error("who waits must go on waiting")
		}
		q.EndTurn("a")
		if !patient.settle() || !patient.hasTurn || !patient.sawHeld {
			t.Errorf("got %+v", patient)
		}
	})
}

// A turn is never lost, whenever it and the end of a context come: it is either taken or stays in the queue.
func TestNoTurnIsLost(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue[int, int, int]
	for round := range 500 {
		q.Try(0)
		ctx, cancel := context.WithCancel(t.Context())
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		turns := 0
		for i := range 8 {
			of := ctx
			if i%2 == 0 {
				of = t.Context()
			}
			wg.Go(func() {
				if q.Wait(of, stop, 0, 0, i).HasTurn {
					mu.Lock()
					turns++
					mu.Unlock()
					if round%2 == 0 || !q.PassTurn(0, func(int) (int, bool) { return i, true }) {
						q.EndTurn(0)
					}
				}
			})
		}
		for range rng.IntN(50) {
			q.Waiting(0)
		}
		wg.Go(func() { q.EndTurn(0) })
		wg.Go(cancel)
		wg.Wait()
		if turns < 4 || !q.Try(0).HasTurn {
			t.Fatalf("round %d: %d had their turn, and the turn is lost", round, turns)
		}
		q.EndTurn(0)
		cancel()
	}
}

// A queue that comes and goes costs no allocation each time.
func TestAFreeKeyCostsNothing(t *testing.T) {
	var q Queue[int, int, int]
	q.Try(1)
	q.EndTurn(1)
	if n := testing.AllocsPerRun(100, func() {
		q.Try(1)
		q.EndTurn(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNoMoreThanTheLimitWait(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		one, two := wait(t.Context(), q, nil, "a", 1), wait(t.Context(), q, nil, "a", 2)
		full := func(k string, maxWaiters int, want Turn[string]) {
			t.Helper()
			if got := q.Wait(t.Context(), nil, k, maxWaiters, 3); got != want {
				t.Errorf("with a limit of %d, %s: %+v, want %+v", maxWaiters, k, got, want)
			}
		}
		full("a", 2, Turn[string]{TooMany: true})
		full("a", 1, Turn[string]{TooMany: true})
		full("b", 1, Turn[string]{HasTurn: true}) // a free turn is taken at once
		if got := q.WaitUnlessHeld(t.Context(), nil, "a", 2); got != (Turn[string]{TooMany: true}) {
			t.Errorf("with a limit of 2, unless it is held: %+v", got)
		}
		q.SetHeld("a", true)
		full("a", 2, Turn[string]{TooMany: true, Held: true})
		if got := q.WaitUnlessHeld(t.Context(), nil, "a", 2); got != (Turn[string]{Held: true}) {
			t.Errorf("with a limit of 2, unless it is held, which it is: %+v", got)
		}
		q.EndTurn("a")
		if !one.settle() || two.settle() {
			t.Error("those who wait already must be served as ever")
		}
		q.EndTurn("a")
		q.EndTurn("a")
	})
}

func TestAParkedValueGoesToWhoAsksNext(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		for name, ask := range map[string]func() Turn[string]{
			"a try": func() Turn[string] { return q.Try("a") },
			"a caller that would wait": func() Turn[string] {
				return q.Wait(t.Context(), nil, "a", 0, 1)
			},
			"a caller that would leave": func() Turn[string] {
				return q.WaitUnlessHeld(t.Context(), nil, "a", 0)
			},
		} {
			q.Try("a")
			q.SetHeld("a", true)
			if !q.Park("a", "value") {
				t.Errorf("%s: a value cannot be parked, although nobody waits", name)
			}
			if got, want := ask(), (Turn[string]{HasTurn: true, Value: "value", Held: true}); got != want {
				t.Errorf("%s gets %+v, want %+v", name, got, want)
			}
			if q.Try("a").HasTurn || q.Unpark("a") {
				t.Errorf("%s has taken the value, and another gets the turn", name)
			}
			q.EndTurn("a")
			if got := q.Try("a"); got != (Turn[string]{HasTurn: true}) {
				t.Errorf("after %s a free key gives %+v", name, got)
			}
			q.EndTurn("a")
		}
	})
}

func TestAParkedValueIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		q.Park("a", "value")
		if !q.Unpark("a") || q.Unpark("a") {
			t.Error("the value is not taken back once")
		}
		if q.Try("a").HasTurn {
			t.Error("who has taken the value back does not have the turn")
		}
		w := wait(t.Context(), q, nil, "a", 1)
		if q.Park("a", "value") {
			t.Error("a value is parked although somebody waits")
		}
		if q.EndTurn("a"); !w.settle() || w.value != "" {
			t.Errorf("the waiter gets %+v", w)
		}
		if q.Unpark("b") {
			t.Error("a value is taken back from a key without one")
		}
	})
}
