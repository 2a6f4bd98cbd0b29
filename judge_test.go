package leasehold

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// judge watches one name: who is in, and whether tokens grow.
type judge struct {
	key driver.Key

	mu        sync.Mutex
	in        map[*stay]bool
	tokens    map[uint64]bool
	highest   uint64 // token of all that were granted
	exclusive uint64 // highest token of an exclusive grant
}

// stay is the time during which somebody relies on a lease.
type stay struct {
	judge  *judge
	who    string
	lease  *Lease
	shared bool
	weight int
}

func (w *world) judge(k driver.Key) *judge {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.judges[k]
	if j == nil {
		j = &judge{key: k, in: map[*stay]bool{}, tokens: map[uint64]bool{}}
		w.judges[k] = j
	}
	return j
}

// returned is the highest token that anybody has seen so far.
func (j *judge) returned() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.highest
}

// enter judges a grant at the moment at which its caller hears of it. before is the highest token that was seen before
// the caller asked.
func (j *judge) enter(w *worker, lease *Lease, weight int, before uint64) *stay {
	s := &stay{judge: j, who: w.name, lease: lease, weight: weight, shared: lease.hold.mode == driver.Shared}
	token := lease.Token()
	w.printf("%s: granted %s %s %d until %v", w.name, j.key.Kind, lease.Name(), token, lease.Deadline().Sub(w.began))
	w.world.mu.Lock()
	w.counts.grants++
	w.world.mu.Unlock()
	if w.chance("let go", j.key.Kind, j.key.Name).IntN(2) == 0 {
		w.engine.letGo(j.key)
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	alone := j.key.Kind == KindLock && !s.shared
	switch {
	case token == 0 || token > driver.MaxToken:
		w.errorf("%s: token %d of %q is out of range", s.who, token, j.key.Name)
	case j.tokens[token]:
		w.errorf("%s: token %d of %q was given before", s.who, token, j.key.Name)
	case token <= before:
		w.errorf("%s: token %d of %q is not above %d, which was seen before it was asked for", s.who, token, j.key.Name, before)
	case alone && token <= j.highest:
		w.errorf("%s: token %d of %q comes after %d", s.who, token, j.key.Name, j.highest)
	case j.key.Kind == KindLock && token <= j.exclusive:
		w.errorf("%s: token %d of %q comes after %d of a writer", s.who, token, j.key.Name, j.exclusive)
	}
	j.tokens[token] = true
	j.highest = max(j.highest, token)
	if alone {
		j.exclusive = max(j.exclusive, token)
	}
	j.in[s] = true
	j.exclusion(w.world)
	return s
}

// exclusion holds if those who rely on a lease now may do so together. mu is held.
func (j *judge) exclusion(w *world) {
	weight := 0
	var others []*stay
	for s := range j.in {
		if !time.Now().Before(s.lease.Deadline()) || s.lease.Context().Err() != nil {
			continue // that one knows that it is over
		}
		weight += s.weight
		for _, o := range others {
			if j.key.Kind == KindLock && !(s.shared && o.shared) {
				w.errorf("%s (token %d) and %s (token %d) both hold %q", s.who, s.lease.Token(), o.who, o.lease.Token(), j.key.Name)
			}
		}
		others = append(others, s)
	}
	if j.key.Kind == KindSemaphore && weight > semaphoreSize {
		w.errorf("%d permits of %d are held", weight, semaphoreSize)
	}
}

func (j *judge) downgrade(s *stay) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.shared = true
}

// leave ends a stay. The caller leaves before it releases.
func (j *judge) leave(s *stay) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.in, s)
}
