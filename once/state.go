package once

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// State is what a job remembers.
type State struct {
	// Done is the latest tick that is done, or the zero Tick.
	Done Tick
	// Runs are the latest runs that ended, at most 20, the latest first. Failed ones are among them.
	Runs []Run
}

// Run is one run of the work.
type Run struct {
	Tick Tick
	// Token is the fencing token of the lease under which it ran.
	Token uint64
	// Began and Ended are times on the clock of the machine that ran it.
	Began, Ended time.Time
	// By is the public text about the process, as in listings of holders.
	By string
	// Error is what the work returned, shortened, or empty.
	Error string
}

// IsDone reports whether a tick, or a later one, is done. It returns an ErrInvalid if the ticks of the job are of
// another sort.
func (s State) IsDone(t Tick) (bool, error) {
	if err := t.check(); err != nil || s.Done.IsZero() {
		return false, err
	}
	order, err := t.compare(s.Done)
	return err == nil && order <= 0, err
}

// ResultOf returns what Do would return for a tick that is done, or the zero Result for one that is not.
func (s State) ResultOf(t Tick) Result {
	if done, err := s.IsDone(t); !done || err != nil {
		return Result{}
	}
	return Result{Done: true, Run: s.runOf(t)}
}

// runOf returns the latest run of a tick, or of a later one if it was passed over.
func (s State) runOf(t Tick) Run {
	for _, sought := range []Tick{t, s.Done} {
		for _, r := range s.Runs {
			if order, err := r.Tick.compare(sought); err == nil && order == 0 {
				return r
			}
		}
	}
	return Run{Tick: s.Done}
}

// wasWorking reports whether the latest run was for a tick before t, and went on at t.
func (s State) wasWorking(t time.Time) bool {
	return len(s.Runs) > 0 && s.Runs[0].Tick.time.Before(t) && t.Before(s.Runs[0].Ended)
}

// State returns what the job remembers, whether or not somebody works for it now. It returns the errors of
// [leasehold.Mutex.Data], or an ErrInvalid if the data of the lock was stored by something else than a job.
func (j *Job) State(ctx context.Context) (State, error) {
	d, err := j.mutex.Data(ctx)
	if err != nil {
		return State{}, err
	}
	return decode(j.name, d.Value)
}

// Forget makes the job forget what is done, so that each tick may run again. It waits for a run that goes on.
// It returns the errors of [leasehold.Mutex.Lock] and [leasehold.Lease.SetData].
func (j *Job) Forget(ctx context.Context) error {
	return j.mutex.Do(ctx, func(ctx context.Context, l *leasehold.Lease) error { return l.SetData(ctx, nil) })
}

const (
	maxRuns = 20
	// maxErrorSize and maxHolderSize are the largest sizes of the texts of a run, so that 20 of them mostly fit.
	maxErrorSize, maxHolderSize = 300, 200
)

// add returns the state after a run, after which its tick is done or not.
func (s State) add(r Run, done bool) State {
	r.Error, r.By = shorten(r.Error, maxErrorSize), shorten(r.By, maxHolderSize)
	s.Runs = append([]Run{r}, s.Runs...)
	s.Runs = s.Runs[:min(len(s.Runs), maxRuns)]
	if done {
		s.Done = r.Tick
	}
	return s
}

// shorten cuts a text that is too long, and what is not UTF-8.
func shorten(text string, size int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size-len("…")], "") + "…"
}

// format is the version of what is stored. A program that does not know it does nothing.
const format = 1

// storedState is a State as it is stored, in JSON.
type storedState struct {
	Format int         `json:"once"`
	Done   storedTick  `json:"done,omitzero"`
	Runs   []storedRun `json:"runs,omitempty"`
}

type storedTick struct {
	Time time.Time `json:"time,omitzero"`
	Key  string    `json:"key,omitempty"`
}

type storedRun struct {
	Tick  storedTick    `json:"tick"`
	Token uint64        `json:"token"`
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"`
	By    string        `json:"by,omitempty"`
	Error string        `json:"error,omitempty"`
}

// encode returns a state as data. Runs that do not fit are left out.
func encode(s State) ([]byte, error) {
	stored := storedState{Format: format, Done: storedTick{s.Done.time, s.Done.key}}
	for _, r := range s.Runs {
		stored.Runs = append(stored.Runs, storedRun{
			Tick: storedTick{r.Tick.time, r.Tick.key}, Token: r.Token,
			Began: r.Began.Round(0), Took: r.Ended.Sub(r.Began), By: r.By, Error: r.Error,
		})
	}
	for {
		data, err := json.Marshal(stored)
		if err != nil || len(data) <= driver.MaxDataSize {
			return data, err
		}
		stored.Runs = stored.Runs[:len(stored.Runs)-1]
	}
}

// decode reads a state. No data is the zero State.
func decode(name string, data []byte) (s State, err error) {
	if len(data) == 0 {
		return s, nil
	}
	var stored storedState
	if err := json.Unmarshal(data, &stored); err != nil || stored.Format < 1 {
		return s, fmt.Errorf("once: the data of the lock %s was not stored by a job: choose another name for the job, "+
			"or remove the data (%w)", strconv.Quote(name), leasehold.ErrInvalid)
	}
	if stored.Format > format {
		return s, fmt.Errorf("once: the data of the job %s was stored by a newer version of this package (format %d, "+
			"known up to %d): update this program (%w)",
			strconv.Quote(name), stored.Format, format, leasehold.ErrInvalid)
	}
	s.Done = Tick{stored.Done.Time, stored.Done.Key}
	for _, r := range stored.Runs {
		s.Runs = append(s.Runs, Run{
			Tick: Tick{r.Tick.Time, r.Tick.Key}, Token: r.Token, Began: r.Began, Ended: r.Began.Add(r.Took), By: r.By,
			Error: r.Error,
		})
	}
	return s, nil
}
