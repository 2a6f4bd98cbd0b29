package quorum

import (
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// answer is what one node has answered.
type answer struct {
	node   *node
	grant  driver.Grant // of a take
	raised bool         // it is about a raise of what was granted
	err    error
}

// inbox collects the answers of nodes for one goroutine that waits for them. It is woken only when they may decide something.
type inbox struct {
	mu      sync.Mutex
	answers []answer
	came    int           // answers in all
	least   int           // how many decide nothing before the last of them has come, unless one is an error
	wake    chan struct{} // has room for one
}

func newInbox(nodes, least int) inbox {
	return inbox{answers: make([]answer, 0, nodes), least: least, wake: make(chan struct{}, 1)}
}

// wakeFrom sets how many answers decide nothing before the last of them has come.
func (b *inbox) wakeFrom(least int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.least = least
}

// put takes in an answer. It does not block.
func (b *inbox) put(a answer) {
	b.mu.Lock()
	b.answers = append(b.answers, a)
	b.came++
	wake := b.came >= b.least || a.err != nil
	b.mu.Unlock()
	if wake {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// next returns an answer that has come, if there is one.
func (b *inbox) next() (a answer, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.answers) == 0 {
		return a, false
	}
	a = b.answers[0]
	b.answers = b.answers[1:]
	return a, true
}
