package fencing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
)

// Two writers, an old holder and a new one, do a few steps each, in every possible order.

// The names of the writers, and the text that each adds to the value. Their tokens are 1 and 2.
const (
	older = iota
	newer
	writers
)

var marksOf = [writers]string{"o", "n"}

func tokenOf(writer int) uint64 { return uint64(writer + 1) }

// errBlocked means that the step must be tried again after the other writer has moved.
var errBlocked = errors.New("blocked")

// step is one step of a writer.
type step struct {
	kind kind
	// try does the step. It returns errBlocked if the other writer is in the way.
	try func() error
}

type kind int

const (
	raises kind = iota
	reads
	writes
	ends // a transaction
)

// writer is the steps of a writer, and its progress.
type writer struct {
	steps        []step
	abort        func() // after an error
	next         int
	pendingSteps int // steps that are due because their turn came while it was blocked
	err          error
}

func (w *writer) hasEnded() bool { return w.err != nil || w.next == len(w.steps) }

// will reports whether the next step is of a kind; has reports whether a past one is.
func (w *writer) will(k kind) bool { return !w.hasEnded() && w.steps[w.next].kind == k }
func (w *writer) has(k kind) bool {
	return slices.ContainsFunc(w.steps[:w.next], func(s step) bool { return s.kind == k })
}

// step does one step, and reports whether something has happened.
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

// orders calls visit with every order of a steps of the old writer and b steps of the new one: 0
// and 1 say whose turn it is.
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

// outcome is the result of one order.
type outcome struct {
	err   [writers]error
	value string
	// late: the old writer wrote, or tried to, after the new one had raised the mark.
	late bool
	// same is how many turns this order shares with others in which the same happens in the same
	// sequence.
	same int
	// trace lists the steps with their writers, and which were blocked (?) or refused (!).
	trace string
}

// runOrder does the steps in an order. A blocked writer makes up for its turns as soon as it can.
//
// So a turn of a writer that is blocked, or refused, has the same effect as a later turn, after the
// other one has moved, in another order that is tried as well. No other order that begins with the
// same turns needs to be tried.
func runOrder(order []int, w *[writers]*writer) (o outcome, err error) {
	turn := func(who int) (moved bool) {
		for w[who].pendingSteps > 0 && !w[who].hasEnded() {
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
			w[who].pendingSteps--
		}
		return moved
	}
	o.same = len(order)
	for i, who := range order {
		if w[who].hasEnded() || w[who].pendingSteps > 0 {
			o.same = min(o.same, i+1)
		}
		w[who].pendingSteps++
		for turn(older) || turn(newer) {
		}
	}
	for who := range w {
		if !w[who].hasEnded() {
			return o, fmt.Errorf("writer %s is blocked for ever before its step %d", marksOf[who], w[who].next)
		}
		o.err[who] = w[who].err
	}
	return o, nil
}

// violation says what is wrong with an outcome, or "".
func (o outcome) violation() string {
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
	// The value has the letter of each writer that was told yes, once, and no other. The new writer
	// has read what the old one wrote, or the old one was refused.
	want := marksOf[newer]
	if o.err[older] == nil {
		want = marksOf[older] + marksOf[newer]
	}
	if o.value != want {
		return fmt.Sprintf("the value is %q, want %q", o.value, want)
	}
	return ""
}

// result is the result of all orders.
type result struct {
	orders     int // number of orders
	tried      int // orders that differ from all others
	refused    int
	violations []string
	traces     map[string]bool
}

// expect checks that a program is right in every order, or wrong in at least one.
func (r result) expect(t *testing.T, right bool) {
	t.Helper()
	t.Logf("%d orders, %d tried, the older one refused in %d, wrong in %d", r.orders, r.tried, r.refused,
		len(r.violations))
	switch {
	case right && len(r.violations) > 0:
		t.Errorf("wrong in order %s", r.violations[0])
	case right && (r.refused == 0 || r.refused == r.tried):
		t.Errorf("the older one is refused in %d of %d orders: nothing is shown", r.refused, r.tried)
	case !right && len(r.violations) == 0:
		t.Errorf("this mistake is not found in %d orders", r.tried)
	}
}

// effort says how many orders are tried.
type effort int

const (
	different effort = iota // all that differ from each other
	all                     // also those that are known to be equal to others
	oneBreach               // until one is wrong
)

// explore runs orders of the programs that build creates anew for each, and reads the result from
// value.
func explore(t *testing.T, e effort, build func() [writers]*writer, value func() string) result {
	t.Helper()
	r := result{traces: map[string]bool{}}
	first := build()
	known := []int{-1} // the beginning of orders that equal one that was tried
	orders(len(first[older].steps), len(first[newer].steps), func(order []int) {
		r.orders++
		if e != all && slices.Equal(order[:min(len(known), len(order))], known) ||
			e == oneBreach && len(r.violations) > 0 {
			return
		}
		w := build()
		o, err := runOrder(order, &w)
		if err != nil {
			t.Fatalf("%s: %v", letters(order), err)
		}
		known = slices.Clone(order[:o.same])
		o.value = value()
		r.tried++
		r.traces[o.trace] = true
		if o.err[older] != nil {
			r.refused++
		}
		if wrong := o.violation(); wrong != "" {
			r.violations = append(r.violations, fmt.Sprintf("%s (%s): %s", letters(order), o.trace, wrong))
		}
	})
	return r
}

// effortFor returns what is enough to show that a program is right or wrong.
func effortFor(right bool) effort {
	if right {
		return different
	}
	return oneBreach
}

func letters(order []int) string {
	var s strings.Builder
	for _, who := range order {
		s.WriteString(marksOf[who])
	}
	return s.String()
}

// orders yields every order, and each once.
func TestOrders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	orders(4, 4, func(order []int) { seen[letters(order)] = true })
	if len(seen) != 70 { // 8! / (4! 4!)
		t.Errorf("%d orders of 4 and 4 steps, want 70", len(seen))
	}
}
