package torture

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// What clients did with one name, as the checker of linearizability is told: taking it (with a token), and the end of what was taken. A lease that was not
// released for certain ends at some time between then and its deadline.
type (
	step struct {
		client int
		ends   bool
	}
	// held is the state of a name: who holds it, 0 is nobody, and the last token given.
	held struct {
		by   int
		last uint64
	}
)

// oneHolder is the model: one at a time, and tokens that grow.
var oneHolder = porcupine.Model{
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		s, do := state.(held), input.(step)
		if do.ends {
			return s.by == do.client, held{0, s.last}
		}
		token := output.(uint64)
		return s.by == 0 && token > s.last, held{do.client, token}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v %v", input, output) },
}

// history is what was done with one name.
type history struct {
	mu    sync.Mutex
	steps []porcupine.Operation
}

func (h *history) add(do step, token uint64, called, returned time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, porcupine.Operation{ClientId: do.client, Input: do, Output: token, Call: called.UnixNano(), Return: returned.UnixNano()})
}

// judge reports whether the history is one of the model. That this cannot be told is no better than that it is not.
func (h *history) judge() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(oneHolder, h.steps, time.Minute)
}

// The model refuses what must not be.
func TestTheModelOfHistories(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		record func(h *history)
		want   porcupine.CheckResult
	}{
		"one after the other": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{1, true}, 0, at(2), at(3))
			h.add(step{2, false}, 6, at(1), at(4))
		}, porcupine.Ok},
		"two at once": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{2, false}, 6, at(1), at(2))
			h.add(step{1, true}, 0, at(3), at(4))
		}, porcupine.Illegal},
		"token that does not grow": {func(h *history) {
			h.add(step{1, false}, 5, at(0), at(1))
			h.add(step{1, true}, 0, at(2), at(3))
			h.add(step{2, false}, 5, at(4), at(5))
		}, porcupine.Illegal},
	} {
		h := &history{}
		c.record(h)
		if got := h.judge(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
