//go:build unix

package cli

import (
	"errors"
	"fmt"
	"sync"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
)

// leaseEvents collects what the library reports about the one lease of this process. It is safe for concurrent use.
type leaseEvents struct {
	onWait  func(reason error) // called when the engine says more than that somebody holds the lock
	onRenew func(err error)    // called when renewals begin to fail, or work again

	mu         sync.Mutex
	renewErr   error  // of the last renewal
	lossReason string // why the lease was lost
}

// ObserveWait implements leasehold.WaitObserver.
func (h *leaseEvents) ObserveWait(w leasehold.Waiting) {
	if w.Reason != nil {
		h.onWait(w.Reason)
	}
}

// ObserveRenew implements leasehold.RenewObserver.
func (h *leaseEvents) ObserveRenew(r leasehold.Renewed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if (r.Err == nil) != (h.renewErr == nil) && !errors.Is(r.Err, leasehold.ErrLost) {
		h.onRenew(r.Err)
	}
	h.renewErr = r.Err
}

// ObserveLost implements leasehold.LostObserver.
func (h *leaseEvents) ObserveLost(l leasehold.Lost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lossReason = l.Reason
}

// describeLoss says why the lease was lost and what follows.
func (j job) describeLoss(cause error, events *leaseEvents) string {
	events.mu.Lock()
	defer events.mu.Unlock()
	var why string
	switch {
	case errors.Is(cause, supervise.ErrMaxHold):
		why = fmt.Sprintf("the command has run for --max-hold %s under %q", j.maxHold.String(), j.name)
	// With --on-lost warn, --max-hold is a deadline like any other. It was the cause if the last renewal went well.
	case errors.Is(cause, leasehold.ErrMaxHold),
		errors.Is(cause, supervise.ErrNotRenewed) && j.maxHold > 0 && j.runLimit() == 0 && events.renewErr == nil:
		why = fmt.Sprintf("%q has been held for --max-hold %s", j.name, j.maxHold.String())
	case errors.Is(cause, supervise.ErrNotRenewed) && events.renewErr != nil:
		why = fmt.Sprintf("the lease of %q runs out: %s", j.name, events.renewErr)
	case events.lossReason != "":
		why = fmt.Sprintf("the lease of %q is lost: %s", j.name, events.lossReason)
	default:
		why = fmt.Sprintf("the lease of %q is lost: %s", j.name, cause)
	}
	switch policies[j.onLost.value] {
	case supervise.Warn:
		return why + "; the command runs on, and others may hold the lock at the same time"
	case supervise.Kill:
		return why + "; killing the command"
	}
	return why + "; ending the command"
}
