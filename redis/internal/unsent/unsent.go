// Package unsent knows the owners of takes for which nothing has been sent yet, because no server is known, and that
// may take long. Releasing such an owner needs no request to the server, and nothing is sent for that owner any more.
package unsent

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrWithdrawn is the error of a take whose owner was released before anything was sent.
var ErrWithdrawn = driver.NoEffect(errors.New("redis: released before the request was sent"))

// maxOwners is how many owners without a pending take are remembered. Older ones have to be released on the server.
const maxOwners = 1024

// Owners are the owners of an engine. The zero value is empty. It is safe for concurrent use.
//
// Note each take with NotePending or NoteSent before it is sent, whether or not the server is known: a take that is not
// noted counts as not sent.
type Owners struct {
	count atomic.Int32 // so that a release needs no mutex while there are none
	// sent says that something was sent, so every take may be sent at any time. It is set under mu.
	sent atomic.Bool

	mu      sync.Mutex
	byOwner map[string]*state
	order   []string // in which they came
}

type state struct {
	asking    int // takes that wait for the server
	withdrawn bool
}

// NoteSent notes a take that is sent now, as the server is known. It returns ErrWithdrawn if it must not be sent.
func (s *Owners) NoteSent(owners ...string) error {
	if s.sent.Load() && s.count.Load() == 0 {
		return nil
	}
	return s.NotePending(owners...)(true)
}

// NotePending notes a take that waits until the server is known. Call the returned function once: with true before
// anything is sent, or with false if nothing will be. With true, it returns ErrWithdrawn if nothing may be sent.
func (s *Owners) NotePending(owners ...string) (goOn func(send bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byOwner == nil {
		s.byOwner = map[string]*state{}
	}
	for _, name := range owners {
		if s.byOwner[name] == nil {
			s.byOwner[name] = new(state)
			s.order = append(s.order, name)
		}
		s.byOwner[name].asking++
	}
	s.forgetLocked()
	noted := append([]string(nil), owners...) // a copy, so that the slices of callers need not be on the heap
	return func(send bool) error { return s.proceed(noted, send) }
}

func (s *Owners) proceed(owners []string, send bool) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range owners {
		of := s.byOwner[name]
		of.asking--
		if send && of.withdrawn {
			err = ErrWithdrawn
		}
	}
	if send && err == nil {
		s.sent.Store(true)
	}
	s.forgetLocked()
	return err
}

// forgetLocked drops the oldest owners without a pending take, if there are too many, or if something was sent.
func (s *Owners) forgetLocked() {
	for len(s.order) > 0 && (s.sent.Load() || len(s.order) > maxOwners) && s.byOwner[s.order[0]].asking == 0 {
		delete(s.byOwner, s.order[0])
		s.order = s.order[1:]
	}
	s.count.Store(int32(len(s.byOwner)))
}

// Withdraw reports whether a take was noted for an owner and nothing was sent for it. Then nothing will be.
func (s *Owners) Withdraw(name string) bool {
	if s.count.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.byOwner[name]
	if of == nil {
		return false
	}
	of.withdrawn = of.withdrawn || !s.sent.Load()
	return of.withdrawn
}
