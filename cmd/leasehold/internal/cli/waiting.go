//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

const (
	// waitReportDelay is how long run waits before it asks who holds the lock.
	waitReportDelay = time.Second
	// waitReportInterval is the shortest time before it asks again.
	waitReportInterval = 5 * time.Second
	// waitReportTimeout limits the request.
	waitReportTimeout = 2 * time.Second
	// sayLimit is how long a run that holds or wants a lock waits until a message is written.
	sayLimit = time.Second
)

// detail says something that --verbose asks for.
func (a *app) detail(j job, format string, args ...any) {
	if j.verbose {
		a.saySoon(format, args...)
	}
}

// saySoon says something, and goes on if standard error is blocked: CMD must not wait for that while others wait for
// the lock.
func (a *app) saySoon(format string, args ...any) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		a.say(format, args...)
	}()
	select {
	case <-said:
	case <-time.After(sayLimit):
	}
}

// leaseEvents returns an observer that says what goes wrong.
func (a *app) leaseEvents(j job) *leaseEvents {
	return &leaseEvents{
		onWait: func(reason error) {
			closed, isClosed := errors.AsType[*leasehold.GrantsClosedError](reason)
			switch {
			case isClosed && !j.quiet:
				a.saySoon("waiting for %q: %s", j.name, closed)
			case !isClosed: // how the nodes of a majority have answered
				a.detail(j, "waiting for %q: %s", j.name, reason)
			}
		},
		onRenew: func(err error) {
			// Renewals must not wait for a standard error that nobody reads.
			if err != nil {
				go a.detail(j, "the lease of %q could not be renewed, and is tried again: %s", j.name, errorText(err))
				return
			}
			go a.detail(j, "the lease of %q is renewed again", j.name)
		},
	}
}

// reportWait says on standard error who holds the lock that a run waits for, after a second, and again when that
// changes. It does so on a terminal, or with --verbose. The function that it returns ends that, and waits for nothing.
func (a *app) reportWait(ctx context.Context, s *session, j job) (stop func()) {
	file, isFile := a.err.(*os.File)
	isTerminal := isFile && terminal.IsTerminal(file)
	if !j.waits() || !j.verbose && (j.quiet || !isTerminal) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &waitReport{client: s.admin(), job: j, say: a.say}
	go r.run(ctx)
	return func() {
		cancel()
		r.end()
	}
}

// waitReport says who holds a lock. It asks on the engine on which the run waits, and never at the same time as itself.
type waitReport struct {
	client *admin.Client
	job    job
	say    func(format string, args ...any)

	mu    sync.Mutex
	ended bool
}

// end makes sure that nothing more is said.
func (r *waitReport) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

func (r *waitReport) run(ctx context.Context) {
	last := ""
	for next := waitReportDelay; pause(ctx, next) == nil; {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, waitReportTimeout)
		text, holders := r.ask(limited)
		cancel()
		if holders != "" && holders != last && !r.tell(ctx, text) {
			return
		}
		if next = waitReportInterval; holders == "" && last == "" {
			next = waitReportDelay // it was just being handed over
		} else if holders != "" {
			last = holders
		}
		// Many may wait, and ask: the engine must have time for other work.
		next = max(next, 20*time.Since(began))
	}
}

// tell says the text, unless the wait is over. A standard error that nobody reads must not keep end waiting.
func (r *waitReport) tell(ctx context.Context, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || ctx.Err() != nil {
		return false
	}
	go r.say("waiting for %q: %s", r.job.name, text)
	return true
}

// ask asks who holds the lock. holders identifies them, and is empty if nobody does, or nobody can say who.
func (r *waitReport) ask(ctx context.Context) (text, holders string) {
	found, err := r.client.Inspect(ctx, r.job.name)
	if err != nil {
		return "who holds it cannot be found out: " + errorText(err), "unknown"
	}
	at := slices.IndexFunc(found, func(s admin.Status) bool { return s.Kind == r.job.kind() })
	if at < 0 || len(found[at].Holders) == 0 {
		return "", ""
	}
	status := found[at]
	for _, h := range status.Holders {
		holders += fmt.Sprintf("%d %s\n", h.Token, h.Holder)
	}
	return describeHolders(status.Holders) + r.describeQueue(status), holders
}

func describeHolders(all []admin.Holder) string {
	text := "held by "
	if all[0].Age >= 0 {
		text = "held for " + formatAge(all[0].Age) + " by "
	}
	text += quote.Text(all[0].Holder)
	switch more := len(all) - 1; more {
	case 0:
		return text
	case 1:
		return text + ", and by another one"
	default:
		return fmt.Sprintf("%s, and by %d others", text, more)
	}
}

// describeQueue says how many wait before this run, if the engine knows that, or how many others wait.
func (r *waitReport) describeQueue(s admin.Status) string {
	mine := r.job.holder().String()
	before := slices.IndexFunc(s.Queue, func(w admin.Waiter) bool { return w.Holder == mine })
	switch {
	case before == 0:
		return "; this run is next"
	case before == 1:
		return "; 1 waits before this run"
	case before > 1:
		return fmt.Sprintf("; %d wait before this run", before)
	case s.Waiting > 1:
		return fmt.Sprintf("; %d wait", s.Waiting)
	}
	return ""
}
