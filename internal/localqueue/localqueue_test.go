package localqueue

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// place is somebody in the line.
type place struct {
	done       chan struct{}
	gift       string
	gifted, ok bool
	held       bool
}

func wait(ctx context.Context, q *Queue[string, int, string], stop <-chan struct{}, k string, want int) *place {
	p := &place{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		t := q.Wait(ctx, stop, k, 0, want)
		p.gift, p.gifted, p.ok, p.held = t.Gift, t.Gifted, t.Mine, t.Held
	}()
	synctest.Wait()
	return p
}

func (p *place) over() bool {
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
		if !q.Try("a") || q.Try("a") {
			t.Error("the first of two tries must have the turn")
		}
		if !q.Try("b") {
			t.Error("keys must have nothing to do with each other")
		}
		q.Done("a")
		if !q.Try("a") {
			t.Error("a turn that has ended must be free")
		}
		q.Done("a")
		if p := wait(t.Context(), q, nil, "a", 0); !p.over() || !p.ok || p.gifted {
			t.Error("who waits for a free turn must have it at once")
		}
	})
}

func TestTurnsGoRoundInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		var line []*place
		for i := range 10 {
			line = append(line, wait(t.Context(), q, nil, "a", i))
		}
		if n := q.Waiting("a"); n != 10 {
			t.Errorf("%d wait, want 10", n)
		}
		for i, p := range line {
			if p.over() {
				t.Fatalf("place %d has its turn too soon", i)
			}
			if q.Try("a") {
				t.Fatal("a try has passed those who wait")
			}
			q.Done("a")
			if !p.over() || !p.ok || p.gifted {
				t.Fatalf("place %d: %+v", i, p)
			}
		}
		q.Done("a")
		if len(q.lines) != 0 || q.Waiting("a") != 0 {
			t.Error("something is left of a key that nobody wants")
		}
	})
}

func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]int{"first": 0, "middle": 1, "last": 2} {
		t.Run(name, func(t *testing.T) {
			for _, byStop := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					q := new(Queue[string, int, string])
					q.Try("a")
					ctx, cancel := context.WithCancel(t.Context())
					stop := make(chan struct{})
					var line []*place
					for i := range 3 {
						if i == who {
							line = append(line, wait(ctx, q, stop, "a", i))
						} else {
							line = append(line, wait(t.Context(), q, nil, "a", i))
						}
					}
					if byStop {
						close(stop)
					}
					cancel()
					if gone := line[who]; !gone.over() || gone.ok {
						t.Fatalf("who has given up: %+v", gone)
					}
					if n := q.Waiting("a"); n != 2 {
						t.Errorf("%d wait, want 2", n)
					}
					for _, p := range slices.Delete(line, who, who+1) {
						q.Done("a")
						if !p.over() || !p.ok {
							t.Fatal("the others must have their turn")
						}
					}
				})
			}
		})
	}
}

func TestPassHandsAGiftOn(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		never := func(int) (string, bool) { t.Error("there is nobody to give to"); return "", true }
		q.Try("a")
		if q.Pass("a", never) {
			t.Error("passed on to nobody")
		}
		first, second := wait(t.Context(), q, nil, "a", 7), wait(t.Context(), q, nil, "a", 8)
		refuse := func(want int) (string, bool) {
			if want != 7 {
				t.Errorf("the first in line wants %d", want)
			}
			return "no", false
		}
		if q.Pass("a", refuse) || first.over() || q.Waiting("a") != 2 {
			t.Error("a gift that is refused must leave everything as it is")
		}
		if !q.Pass("a", func(int) (string, bool) { return "gift", true }) {
			t.Error("not passed on")
		}
		if !first.over() || !first.ok || !first.gifted || first.gift != "gift" || second.over() {
			t.Errorf("got %+v and %+v", first, second)
		}
		q.Done("a") // the turn came with the gift
		if !second.over() || !second.ok || second.gifted {
			t.Errorf("got %+v", second)
		}
	})
}

// Who waits learns whether it was ever known, while it waited, that it is held.
func TestWhatIsKnownOfWhatOneWaitsFor(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		before := wait(t.Context(), q, nil, "a", 0)
		ctx, cancel := context.WithCancel(t.Context())
		gone := wait(ctx, q, nil, "a", 0)
		if q.Held("a") || q.Held("b") {
			t.Error("nobody has said so")
		}
		cancel()
		if !gone.over() || gone.ok || gone.held {
			t.Errorf("who has gone before anything was known: %+v", gone)
		}
		q.SetHeld("a", true)
		during := wait(t.Context(), q, nil, "a", 0)
		q.SetHeld("a", false)
		after := wait(t.Context(), q, nil, "a", 0)
		for _, p := range []struct {
			*place
			held bool
		}{{before, true}, {during, true}, {after, false}} {
			q.Done("a")
			if !p.over() || !p.ok || p.place.held != p.held {
				t.Errorf("got %+v, want that it was known: %v", p.place, p.held)
			}
			if q.Held("a") {
				t.Error("who has just got its turn knows nothing")
			}
		}
		q.SetHeld("a", true)
		q.Done("a")
		if q.Try("a"); q.Held("a") {
			t.Error("what was known of a line is known of the next one")
		}
	})
}

// Who only wants to know waits until that is known, or for its turn.
func TestWaitUnlessHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		look := func(ctx context.Context) <-chan Turn[string] {
			c := make(chan Turn[string], 1)
			go func() { c <- q.WaitUnlessHeld(ctx, nil, "a", 0) }()
			synctest.Wait()
			return c
		}
		if turn := <-look(t.Context()); !turn.Mine {
			t.Errorf("a free turn: %+v", turn)
		}
		one, patient, two := look(t.Context()), wait(t.Context(), q, nil, "a", 0), look(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		gone := look(ctx)
		cancel()
		if turn := <-gone; turn.Mine || turn.Held {
			t.Errorf("who has given up: %+v", turn)
		}
		if q.Pass("a", func(int) (string, bool) { t.Error("a gift for one who only looks"); return "", true }) {
			t.Error("passed on")
		}
		q.Done("a")
		if turn := <-one; !turn.Mine || turn.Held {
			t.Errorf("the first in line: %+v", turn)
		}
		q.SetHeld("a", true)
		if turn := <-two; turn.Mine || !turn.Held {
			t.Errorf("who has learned it: %+v", turn)
		}
		if turn := <-look(t.Context()); turn.Mine || !turn.Held {
			t.Errorf("who could know at once: %+v", turn)
		}
		if patient.over() || q.Waiting("a") != 1 {
			t.Error("who waits must go on waiting")
		}
		q.Done("a")
		if !patient.over() || !patient.ok || !patient.held {
			t.Errorf("got %+v", patient)
		}
	})
}

// A turn is never lost, whenever it and the end of a context come: it is either given or stays with the line.
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
				if q.Wait(of, stop, 0, 0, i).Mine {
					mu.Lock()
					turns++
					mu.Unlock()
					if round%2 == 0 || !q.Pass(0, func(int) (int, bool) { return i, true }) {
						q.Done(0)
					}
				}
			})
		}
		for range rng.IntN(50) {
			q.Waiting(0)
		}
		wg.Go(func() { q.Done(0) })
		wg.Go(cancel)
		wg.Wait()
		if turns < 4 || !q.Try(0) {
			t.Fatalf("round %d: %d had their turn, and the turn is lost", round, turns)
		}
		q.Done(0)
		cancel()
	}
}

// A line that comes and goes costs no memory each time.
func TestAFreeKeyCostsNothing(t *testing.T) {
	var q Queue[int, int, int]
	q.Try(1)
	q.Done(1)
	if n := testing.AllocsPerRun(100, func() {
		q.Try(1)
		q.Done(1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNoMoreThanTheLimitWait(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue[string, int, string]) {
		q.Try("a")
		one, two := wait(t.Context(), q, nil, "a", 1), wait(t.Context(), q, nil, "a", 2)
		full := func(k string, most int, want Turn[string]) {
			t.Helper()
			if got := q.Wait(t.Context(), nil, k, most, 3); got != want {
				t.Errorf("with a limit of %d, %s: %+v, want %+v", most, k, got, want)
			}
		}
		full("a", 2, Turn[string]{Full: true})
		full("a", 1, Turn[string]{Full: true})
		full("b", 1, Turn[string]{Mine: true}) // a free turn is had at once
		if got := q.WaitUnlessHeld(t.Context(), nil, "a", 2); got != (Turn[string]{Full: true}) {
			t.Errorf("with a limit of 2, unless it is held: %+v", got)
		}
		q.SetHeld("a", true)
		full("a", 2, Turn[string]{Full: true, Held: true})
		if got := q.WaitUnlessHeld(t.Context(), nil, "a", 2); got != (Turn[string]{Held: true}) {
			t.Errorf("with a limit of 2, unless it is held, which it is: %+v", got)
		}
		q.Done("a")
		if !one.over() || two.over() {
			t.Error("those who wait already must be served as ever")
		}
		q.Done("a")
		q.Done("a")
	})
}
