package torture

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The operations of clients on one name, for the linearizability checker: a take (with a token),
// and the end of a lease. A lease that was not released for certain ends at some time between its
// release and its deadline.
type (
	step struct {
		client int
		ends   bool
	}
	// held is the state of a name: its holder, 0 for nobody, and the last token.
	held struct {
		by   int
		last uint64
	}
)

// oneHolder is the model: one holder at a time, and tokens that grow.
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

// history is the operations on one name.
type history struct {
	mu    sync.Mutex
	steps []porcupine.Operation
}

func (h *history) add(do step, token uint64, called, returned time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, porcupine.Operation{ClientId: do.client, Input: do, Output: token,
		Call: called.UnixNano(), Return: returned.UnixNano()})
}

// check reports whether the history fits the model. A result of unknown is no better than a
// mismatch.
func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(oneHolder, h.steps, time.Minute)
}

// The model refuses wrong histories.
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
		if got := h.check(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
