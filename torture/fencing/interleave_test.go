package fencing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// Two writers, an old holder and a new one, do a few steps each, in every order that there is.

// The names of the writers, and what each adds to the value. Their tokens are 1 and 2.
const (
	older = iota
	newer
	writers
)

var marksOf = [writers]string{"o", "n"}

func tokenOf(writer int) uint64 { return uint64(writer + 1) }

// errBlocked means that a step has to be tried again when the other writer has done something.
var errBlocked = errors.New("blocked")

// step is one thing that a writer does.
type step struct {
	kind kind
	// try makes the step. It returns errBlocked if the other writer is in the way.
	try func() error
}

type kind int

const (
	raises kind = iota
	reads
	writes
	ends // a transaction
)

// writer is what one of them does, and how far it is.
type writer struct {
	steps []step
	abort func() // after an error
	next  int
	owed  int // steps whose turn came while it was blocked
	err   error
}

func (w *writer) over() bool { return w.err != nil || w.next == len(w.steps) }

// will reports whether the next step is of a kind, and has whether one of them has been made.
func (w *writer) will(k kind) bool { return !w.over() && w.steps[w.next].kind == k }
func (w *writer) has(k kind) bool {
	return slices.ContainsFunc(w.steps[:w.next], func(s step) bool { return s.kind == k })
}

// step makes one step, and reports whether something has happened.
func (w *writer) step() bool {
	err := w.steps[w.next].try()
	if errors.Is(err, errBlocked) {
		return false
	}
	if err != nil {
		w.err = err
		w.abort()
		return true
	}
	w.next++
	return true
}

// orders calls visit with every order in which a steps of the older and b steps of the newer can be made: 0 and 1, as whose turn it is.
func orders(a, b int, visit func(order []int)) {
	order := make([]int, 0, a+b)
	var next func(a, b int)
	next = func(a, b int) {
		if a+b == 0 {
			visit(order)
			return
		}
		for who, left := range [writers]int{a, b} {
			if left == 0 {
				continue
			}
			order = append(order, who)
			if who == older {
				next(a-1, b)
			} else {
				next(a, b-1)
			}
			order = order[:len(order)-1]
		}
	}
	next(a, b)
}

// outcome is what came of one order.
type outcome struct {
	err   [writers]error
	value string
	// late is set if the older one wrote, or tried to, when the newer one had raised the mark.
	late bool
	// same is how many turns this order has in common with others in which the same happens in the same sequence.
	same int
	// trace is what happened: who made which step, was blocked (?) or refused (!).
	trace string
}

// play makes the steps in an order. A writer that is blocked makes up for its turns as soon as it can.
//
// So a turn of one that is blocked, or refused, is as good as the same turn when the other one has moved, in an order that is tried as well. Of orders that begin like this one up to
// such a turn none is worth another try.
func play(order []int, w *[writers]*writer) (o outcome, err error) {
	turn := func(who int) (moved bool) {
		for w[who].owed > 0 && !w[who].over() {
			late := who == older && w[older].will(writes) && w[newer].has(raises)
			at := fmt.Sprint(marksOf[who], w[who].next)
			if !w[who].step() {
				if !strings.HasSuffix(o.trace, at+"? ") {
					o.trace += at + "? "
				}
				return moved
			}
			if w[who].err != nil {
				at += "!"
			}
			o.trace += at + " "
			o.late = o.late || late
			moved = true
			w[who].owed--
		}
		return moved
	}
	o.same = len(order)
	for i, who := range order {
		if w[who].over() || w[who].owed > 0 {
			o.same = min(o.same, i+1)
		}
		w[who].owed++
		for turn(older) || turn(newer) {
		}
	}
	for who := range w {
		if !w[who].over() {
			return o, fmt.Errorf("writer %s is blocked for ever before its step %d", marksOf[who], w[who].next)
		}
		o.err[who] = w[who].err
	}
	return o, nil
}

// breach says what is wrong with an outcome, or "".
func (o outcome) breach() string {
	for who, err := range o.err {
		if err != nil && !errors.Is(err, fence.ErrStale) {
			return fmt.Sprintf("writer %s: %v", marksOf[who], err)
		}
	}
	switch {
	case o.err[newer] != nil:
		return fmt.Sprintf("the newer one is refused: %v", o.err[newer])
	case o.late && o.err[older] == nil:
		return "the older one wrote after the newer one had raised the mark, and was not refused"
	}
	// Whoever was told yes has its letter in the value, once; and nobody else. The newer one read what the older one wrote, or that was refused.
	want := marksOf[newer]
	if o.err[older] == nil {
		want = marksOf[older] + marksOf[newer]
	}
	if o.value != want {
		return fmt.Sprintf("the value is %q, want %q", o.value, want)
	}
	return ""
}

// result is what came of all orders.
type result struct {
	orders   int // of all
	tried    int // of which others are no different
	refused  int
	breaches []string
	traces   map[string]bool
}

// expect checks that a program is right in every order, or wrong in at least one.
func (r result) expect(t *testing.T, right bool) {
	t.Helper()
	t.Logf("%d orders, %d tried, the older one refused in %d, wrong in %d", r.orders, r.tried, r.refused, len(r.breaches))
	switch {
	case right && len(r.breaches) > 0:
		t.Errorf("wrong in order %s", r.breaches[0])
	case right && (r.refused == 0 || r.refused == r.tried):
		t.Errorf("the older one is refused in %d of %d orders: nothing is shown", r.refused, r.tried)
	case !right && len(r.breaches) == 0:
		t.Errorf("this mistake is not found in %d orders", r.tried)
	}
}

// effort is how many orders are tried.
type effort int

const (
	different effort = iota // all that differ
	all                     // also those that are known to be no different from others
	oneBreach               // until one is wrong
)

// explore plays orders of programs that build makes anew for each, and has their outcome from value.
func explore(t *testing.T, e effort, build func() [writers]*writer, value func() string) result {
	t.Helper()
	r := result{traces: map[string]bool{}}
	first := build()
	known := []int{-1} // the beginning of orders that are no different from one that was tried
	orders(len(first[older].steps), len(first[newer].steps), func(order []int) {
		r.orders++
		if e != all && slices.Equal(order[:min(len(known), len(order))], known) || e == oneBreach && len(r.breaches) > 0 {
			return
		}
		w := build()
		o, err := play(order, &w)
		if err != nil {
			t.Fatalf("%s: %v", spell(order), err)
		}
		known = slices.Clone(order[:o.same])
		o.value = value()
		r.tried++
		r.traces[o.trace] = true
		if o.err[older] != nil {
			r.refused++
		}
		if wrong := o.breach(); wrong != "" {
			r.breaches = append(r.breaches, fmt.Sprintf("%s (%s): %s", spell(order), o.trace, wrong))
		}
	})
	return r
}

// effortFor is enough to show that a program is right or wrong.
func effortFor(right bool) effort {
	if right {
		return different
	}
	return oneBreach
}

func spell(order []int) string {
	var s strings.Builder
	for _, who := range order {
		s.WriteString(marksOf[who])
	}
	return s.String()
}

// The orders are all there, and each once.
func TestOrders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	orders(4, 4, func(order []int) { seen[spell(order)] = true })
	if len(seen) != 70 { // 8! / (4! 4!)
		t.Errorf("%d orders of 4 and 4 steps, want 70", len(seen))
	}
}
