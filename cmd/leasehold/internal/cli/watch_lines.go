//go:build unix

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/driver"
)

// printChanges prints a line for each change: changes to standard output, and the state of the engine to standard
// error.
func (a *app) printChanges(all []change, json bool) error {
	now := time.Now()
	for _, c := range all {
		switch c.Event {
		case eventUnavailable:
			a.sayUnavailable(c.Error)
		case eventAvailable:
			a.sayAvailable()
		}
		var err error
		switch {
		case json:
			c.At = jsonMoment(now)
			err = a.printJSON(c)
		case c.Event != eventUnavailable && c.Event != eventAvailable:
			_, err = fmt.Fprintln(a.out, strings.TrimRight(formatMoment(now)+"  "+c.text(), " "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sayUnavailable and sayAvailable are the messages of commands that poll.
func (a *app) sayUnavailable(reason string) { a.say("polling has failed, trying again: %s", reason) }
func (a *app) sayAvailable()                { a.say("the engine is back") }

// errorText returns the text of an error without the name of the library, which each message begins with.
func errorText(err error) string { return strings.TrimPrefix(err.Error(), "leasehold: ") }

// text returns the change in words.
func (c change) text() string {
	what := strings.TrimSpace(c.Kind + " " + quote.Name(c.Name))
	switch {
	case c.closed != nil:
		what = c.closed.Error()
	case c.Event == eventOpen:
		what = "leases are granted again"
	case c.Node != nil:
		what = quote.Name(c.Node.Node) + "  " + c.Node.describe()
	case c.Event == eventHandedOver, c.Event == eventChanged:
		what += "  to " + c.Holder.describe(c.Kind) + ", from " + c.From.describe(c.Kind)
	case c.Holder != nil:
		what += "  " + c.Holder.describe(c.Kind) + ", ttl " + formatRemaining(c.Holder.TTL)
	case c.From != nil:
		what += "  " + c.From.describe(c.Kind)
	case c.Count != nil && c.Before != nil:
		what += fmt.Sprintf("  %d, was %d", *c.Count, *c.Before)
	case c.Count != nil:
		what += "  " + strconv.Itoa(*c.Count)
	case c.Before != nil:
		what += "  was " + strconv.Itoa(*c.Before)
	}
	return fmt.Sprintf("%-9s  %s", c.Event, what)
}

// describe returns the holder in words.
func (h *holder) describe(kind string) string {
	mode := h.Mode
	if kind == driver.Semaphore.String() {
		mode = formatPermits(h.Weight)
	}
	return fmt.Sprintf("%s, %s, token %d", quote.Text(h.Holder), mode, h.Token)
}

// describe returns the answer of a node in words.
func (n *node) describe() string {
	said := n.Answer
	if n.Error != "" && n.Answer == "error" {
		said += ": " + oneLine(n.Error)
	}
	if n.Quarantine > 0 {
		if said == "free" { // as describeVote
			return "grants are closed for " + formatRemaining(&n.Quarantine)
		}
		said += ", grants are closed for " + formatRemaining(&n.Quarantine)
	}
	return said
}

// formatRemaining formats the remaining milliseconds of a lease, nil for one that never expires.
func formatRemaining(ms *int64) string {
	if ms == nil {
		return formatTTL(driver.NoTTL)
	}
	return formatTTL(time.Duration(*ms) * time.Millisecond)
}
