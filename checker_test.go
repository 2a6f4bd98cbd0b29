package leasehold

import (
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// checker checks one name: exclusion, and that tokens grow.
type checker struct {
	key driver.Key

	mu        sync.Mutex
	holders   map[*holding]bool
	tokens    map[uint64]bool
	highest   uint64            // token of all that were granted
	exclusive uint64            // highest token of an exclusive grant
	data      uint64            // highest token whose data was stored, or was seen by a holder
	seen      map[uint64]uint64 // by token of a lease: the token of the data that its holder has found
}

// holding is the time during which a program relies on a lease.
type holding struct {
	checker *checker
	who     string
	lease   *Lease
	shared  bool
	weight  int
}

func (w *simulation) checkerOf(k driver.Key) *checker {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.checkers[k]
	if j == nil {
		j = &checker{key: k, holders: map[*holding]bool{}, tokens: map[uint64]bool{}, seen: map[uint64]uint64{}}
		w.checkers[k] = j
	}
	return j
}

// highestSeen returns the highest token that any program has seen so far.
func (j *checker) highestSeen() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.highest
}

// enter checks a grant at the moment when its caller gets it. before is the highest token that had been seen when the
// call began.
func (j *checker) enter(w *program, lease *Lease, weight int, before uint64) *holding {
	s := &holding{checker: j, who: w.name, lease: lease, weight: weight, shared: lease.hold.mode == driver.Shared}
	token := lease.Token()
	w.printf("%s: granted %s %s %d until %v", w.name, j.key.Kind, lease.Name(), token, lease.Deadline().Sub(w.began))
	w.simulation.mu.Lock()
	w.counts.grants++
	w.simulation.mu.Unlock()
	if w.chance("let go", j.key.Kind, j.key.Name).IntN(2) == 0 {
		w.engine.deliver(j.key)
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	alone := j.key.Kind == driver.Lock && !s.shared
	switch {
	case token == 0 || token > driver.MaxToken:
		w.errorf("%s: token %d of %q is out of range", s.who, token, j.key.Name)
	case j.tokens[token]:
		w.errorf("%s: token %d of %q was given before", s.who, token, j.key.Name)
	case token <= before:
		w.errorf("%s: token %d of %q is not above %d, which was seen before it was asked for", s.who, token, j.key.Name,
			before)
	case alone && token <= j.highest:
		w.errorf("%s: token %d of %q comes after %d", s.who, token, j.key.Name, j.highest)
	case j.key.Kind == driver.Lock && token <= j.exclusive:
		w.errorf("%s: token %d of %q comes after %d of a writer", s.who, token, j.key.Name, j.exclusive)
	}
	j.tokens[token] = true
	j.highest = max(j.highest, token)
	if alone {
		j.exclusive = max(j.exclusive, token)
	}
	j.holders[s] = true
	j.checkExclusionLocked(w.simulation)
	return s
}

// checkExclusionLocked checks that the programs that rely on a lease now may do so together.
func (j *checker) checkExclusionLocked(w *simulation) {
	weight := 0
	var others []*holding
	for s := range j.holders {
		if !time.Now().Before(s.lease.Deadline()) || s.lease.Context().Err() != nil {
			continue // its holder knows that it has ended
		}
		weight += s.weight
		for _, o := range others {
			if j.key.Kind == driver.Lock && !(s.shared && o.shared) {
				w.errorf("%s (token %d) and %s (token %d) both hold %q", s.who, s.lease.Token(), o.who, o.lease.Token(),
					j.key.Name)
			}
		}
		others = append(others, s)
	}
	if j.key.Kind == driver.Semaphore && weight > semaphoreSize {
		w.errorf("%d permits of %d are held", weight, semaphoreSize)
	}
}

func (j *checker) noteDowngraded(s *holding) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.shared = true
}

// leave ends a holding. The caller leaves before it releases.
func (j *checker) leave(s *holding) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.holders, s)
}

// noteData notes that data with a token is stored for good.
func (j *checker) noteData(token uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.data = max(j.data, token)
}

// dataStored returns the highest token whose data is known to be stored.
func (j *checker) dataStored() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.data
}

// checkData checks the data that a holder has read. before is the highest token whose data was known to be stored when
// the holder asked. What a holder has seen does not change until it, or a later one, stores something else.
func (j *checker) checkData(w *program, lease *Lease, d Data, before uint64) {
	switch {
	case d.Token < before:
		w.errorf("%s: the data of %q with token %d is gone: there is that with token %d", w.name, j.key.Name, before,
			d.Token)
	case d.Token > lease.Token():
		w.errorf("%s: the holder with token %d finds data of %q with token %d", w.name, lease.Token(), j.key.Name,
			d.Token)
	case d.Token > 0 && string(d.Value) != fmt.Sprint(d.Token):
		w.errorf("%s: the data of %q with token %d is %q", w.name, j.key.Name, d.Token, d.Value)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.seen[lease.Token()]; ok && known != d.Token && d.Token != lease.Token() {
		w.errorf("%s: data of %q changed from token %d to %d under the lease with token %d", w.name, j.key.Name, known,
			d.Token, lease.Token())
	}
	j.seen[lease.Token()] = d.Token
	j.data = max(j.data, d.Token)
}
