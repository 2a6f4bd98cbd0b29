package quorum

import (
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// answer is what one node has answered.
type answer struct {
	node   *node
	grant  driver.Grant // of a take
	raised bool         // it is the answer to a raise, not to a take
	err    error
}

// answerQueue collects the answers of nodes for one goroutine that waits for them. It wakes that goroutine only when
// the answers may decide something.
type answerQueue struct {
	mu       sync.Mutex
	answers  []answer
	received int           // answers in all
	wakeAt   int           // fewer answers decide nothing, unless one of them is an error
	wake     chan struct{} // has room for one
}

func newAnswerQueue(nodes, wakeAt int) answerQueue {
	return answerQueue{answers: make([]answer, 0, nodes), wakeAt: wakeAt, wake: make(chan struct{}, 1)}
}

// setWakeAt sets how many answers may decide something.
func (q *answerQueue) setWakeAt(answers int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeAt = answers
}

// add adds an answer. It does not block.
func (q *answerQueue) add(a answer) {
	q.mu.Lock()
	q.answers = append(q.answers, a)
	q.received++
	wake := q.received >= q.wakeAt || a.err != nil
	q.mu.Unlock()
	if wake {
		q.wakeUp()
	}
}

// wakeUp wakes the goroutine that waits. It does not block.
func (q *answerQueue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next returns an answer that has arrived, if there is one.
func (q *answerQueue) next() (a answer, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.answers) == 0 {
		return a, false
	}
	a = q.answers[0]
	q.answers = q.answers[1:]
	return a, true
}
