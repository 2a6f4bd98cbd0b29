//go:build unix

package cli

import (
	"errors"
	"fmt"
	"sync"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/supervise"
)

// heard is what the library tells of the one lease of this process. It is safe for concurrent
// use.
type heard struct {
	waits func(reason error) // hears of a wait for something else than other holders

	mu     sync.Mutex
	renew  error  // of the last renewal
	reason string // why the lease was lost
}

// ObserveWait implements leasehold.WaitObserver.
func (h *heard) ObserveWait(w leasehold.Waiting) {
	if w.Reason != nil {
		h.waits(w.Reason)
	}
}

// ObserveRenew implements leasehold.RenewObserver.
func (h *heard) ObserveRenew(r leasehold.Renewed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renew = r.Err
}

// ObserveLost implements leasehold.LostObserver.
func (h *heard) ObserveLost(l leasehold.Lost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reason = l.Reason
}

// lost says why the lease is lost, and what follows.
func (j job) lost(cause error, heard *heard) string {
	heard.mu.Lock()
	defer heard.mu.Unlock()
	var why string
	switch {
	case errors.Is(cause, supervise.ErrMaxHold):
		why = fmt.Sprintf("the command has run for --max-hold %s under %q", j.maxHold.String(), j.name)
	// With --on-lost warn the longest hold is a deadline like any other; it is the one that counted if renewals went well.
	case errors.Is(cause, leasehold.ErrMaxHold),
		errors.Is(cause, supervise.ErrNotRenewed) && j.maxHold > 0 && j.ending() == 0 && heard.renew == nil:
		why = fmt.Sprintf("%q has been held for --max-hold %s", j.name, j.maxHold.String())
	case errors.Is(cause, supervise.ErrNotRenewed) && heard.renew != nil:
		why = fmt.Sprintf("the lease of %q runs out: %s", j.name, heard.renew)
	case heard.reason != "":
		why = fmt.Sprintf("the lease of %q is lost: %s", j.name, heard.reason)
	default:
		why = fmt.Sprintf("the lease of %q is lost: %s", j.name, cause)
	}
	switch policies[j.onLost.word] {
	case supervise.Warn:
		return why + "; the command runs on, and others may hold the lock at the same time"
	case supervise.Kill:
		return why + "; killing the command"
	}
	return why + "; ending the command"
}
