package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// errand is a take of one name that is likely to be free, or its release, for [couriers] to see to.
type errand struct {
	kind  aKind
	names names     // of which the value is needed, and for a take the token
	text  string    // the value for a take, the owner for a release
	ttl   int64     // ms
	least string    // the floor of a take
	end   time.Time // it is of no use after this

	// finish is called once with the answer of the script, from any goroutine. It must not block.
	finish func(answer any, err error)

	queued bool // not on its way yet; under the mutex of the couriers
}

// aKind is what kind an errand is of, in the order in which together.lua wants them.
type aKind int

const (
	aRelease aKind = iota
	aTake
)

// script is the one that does it alone.
func (r *errand) script() script {
	if r.kind == aTake {
		return takeFree
	}
	return releaseFree
}

// may is what that may do.
func (r *errand) may() may {
	if r.kind == aTake {
		return ifOpen
	}
	return never
}

// keys adds those that the scripts want.
func (r *errand) keys(w words) words {
	if w = append(w, &r.names.value); r.kind == aTake {
		w = append(w, &r.names.token)
	}
	return w
}

// args adds the arguments.
func (r *errand) args(w words) words {
	if w = append(w, &r.text); r.kind == aTake {
		w = append(w, &r.ttl, &r.least)
	}
	return w
}

// command is the script that does it alone, with its keys and arguments.
func (r *errand) command() words {
	w := r.keys(make(words, 3, 9))
	w[2] = len(w) - 3
	return r.args(w)
}

// awaited is an errand for which a goroutine waits.
type awaited struct {
	errand
	answered chan struct{} // has room for one
	answer   any
	err      error
}

// newAwaited returns one that is new, or that has been answered.
func (c *couriers) newAwaited() *awaited {
	if w, ok := c.spare.Get().(*awaited); ok {
		return w
	}
	w := &awaited{answered: make(chan struct{}, 1)}
	w.finish = func(answer any, err error) {
		w.answer, w.err = answer, err
		w.answered <- struct{}{}
	}
	return w
}

// wait has an errand done and waits for the answer, or until ctx ends.
func (c *couriers) wait(ctx context.Context, r errand) (any, error) {
	w := c.newAwaited()
	r.finish = w.finish
	w.errand = r
	if end, ok := ctx.Deadline(); ok {
		w.end = end
	} else {
		w.end = time.Now().Add(longestErrand)
	}
	c.send(&w.errand)
	select {
	case <-w.answered:
	case <-ctx.Done():
		if !c.withdraw(&w.errand) {
			return nil, ctx.Err() // the answer may come at any time: w is not to be used again
		}
		w.answer, w.err = nil, driver.NoEffect(ctx.Err())
	}
	answer, err := w.answer, w.err
	if err == nil { // else the client may still read what it has not sent
		w.errand, w.answer = errand{finish: w.finish}, nil
		c.spare.Put(w)
	}
	return answer, err
}

// longestErrand is how long an errand may take that nothing else bounds.
const longestErrand = 10 * time.Second

// errBusy is for errands that are not even sent.
var errBusy = driver.NoEffect(fmt.Errorf("redis: no answer to the requests before: %w", context.DeadlineExceeded))
