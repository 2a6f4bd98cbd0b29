package top

import (
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// errand is a sort of work that is done while the screen is shown.
type errand uint8

const (
	looking   errand = iota // through all names
	opening                 // at one name
	examining               // of the places where locks are kept
	sorts
)

// work is how one sort of errand stands. At most one of each sort is under way.
type work struct {
	busy   bool
	unfit  bool // what is under way is of no use any more
	never  bool // the engine cannot do it
	due    time.Time
	number int // of the one that is under way
}

// task is an errand to be run.
type task struct {
	errand errand
	number int
	view   view
	key    driver.Key
	query  leasehold.Query
}

// answer is what has become of a task.
type answer struct {
	task
	picture picture
	detail  detail
	places  leasehold.Examination
	err     error
	panic   any // what the task has panicked with
}

// tasks returns what is to be started now. From then on it is under way, until the answer comes.
func (m *model) tasks() (due []task) {
	for e := range m.work {
		w := &m.work[e]
		if w.busy || w.never || m.paused || m.now.Before(w.due) || errand(e) == opening && m.page != one {
			continue
		}
		w.busy, w.unfit = true, false
		w.number++
		due = append(due, task{
			errand: errand(e), number: w.number, view: m.view, key: m.shown,
			query: leasehold.Query{Kind: m.opts.Kind, Prefix: m.opts.Prefix},
		})
	}
	return due
}

// restart has work begin anew, as soon as what is under way has ended.
func (m *model) restart(e errand) {
	m.work[e].due = m.now
	m.work[e].unfit = m.work[e].busy
}

// unfit reports whether what is under way should end.
func (m *model) unfit(e errand) bool { return m.work[e].busy && m.work[e].unfit }

// wake is when there is something to do, or to draw, even if nothing happens.
func (m *model) wake() time.Time {
	at := m.now.Add(time.Second)
	for e, w := range m.work {
		if !w.busy && !w.never && !m.paused && w.due.Before(at) && (errand(e) != opening || m.page == one) {
			at = w.due
		}
	}
	return at
}

// progress takes in how far the look that is under way has come.
func (m *model) progress(so progress) {
	if m.work[looking].busy && !m.work[looking].unfit {
		m.so = so
	}
}

// take takes in an answer.
func (m *model) take(a answer) {
	w := &m.work[a.errand]
	if !w.busy || w.number != a.number {
		return
	}
	w.busy = false
	if w.unfit { // it is due again already
		w.unfit = false
		return
	}
	w.due = m.now.Add(m.opts.Interval)
	switch a.errand {
	case looking:
		if a.err != nil {
			m.failed(a.err)
			return
		}
		// Half of the time the engine is left alone.
		w.due = m.now.Add(max(m.opts.Interval, a.picture.took))
		m.pictured(a.picture)
	case opening:
		m.openErr = a.err
		if a.err == nil {
			m.opened = m.now
		}
		if a.err == nil || len(a.detail.votes) > 0 {
			m.detail = &a.detail
		}
	case examining:
		w.due = m.now.Add(max(m.opts.Interval, examineEvery))
		w.never = errors.Is(a.err, leasehold.ErrUnsupported)
		if m.examineErr = a.err; a.err == nil {
			m.places, m.examined = a.places, m.now
		}
	}
}
