//go:build unix

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/driver"
)

// printChanges prints a line for each change: data on standard output, and what the engine is doing on standard error, too.
func (a *app) printChanges(all []change, json bool) error {
	now := time.Now()
	for _, c := range all {
		switch c.Event {
		case eventAway:
			a.sayAway(c.Error)
		case eventBack:
			a.sayBack()
		}
		var err error
		switch {
		case json:
			c.At = now.UTC().Format("2006-01-02T15:04:05.000Z07:00")
			err = a.printJSON(c)
		case c.Event != eventAway && c.Event != eventBack:
			_, err = fmt.Fprintln(a.out, strings.TrimRight(now.Format("2006-01-02 15:04:05")+"  "+c.line(), " "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sayAway and sayBack are what commands say that look again and again.
func (a *app) sayAway(reason string) { a.say("looking has failed, trying again: %s", reason) }
func (a *app) sayBack()              { a.say("the engine is back") }

// plainly is an error in words, without the name of the library, which each message begins with.
func plainly(err error) string { return strings.TrimPrefix(err.Error(), "leasehold: ") }

// line is a change in words.
func (c change) line() string {
	what := strings.TrimSpace(c.Kind + " " + quote.Name(c.Name))
	switch {
	case c.Node != nil:
		what = quote.Name(c.Node.Node) + "  " + c.Node.words()
	case c.Event == eventHandedOn, c.Event == eventChanged:
		what += "  to " + c.Holder.words(c.Kind) + ", from " + c.From.words(c.Kind)
	case c.Holder != nil:
		what += "  " + c.Holder.words(c.Kind) + ", ttl " + left(c.Holder.TTL)
	case c.From != nil:
		what += "  " + c.From.words(c.Kind)
	case c.Count != nil && c.Before != nil:
		what += fmt.Sprintf("  %d, was %d", *c.Count, *c.Before)
	case c.Count != nil:
		what += "  " + strconv.Itoa(*c.Count)
	case c.Before != nil:
		what += "  was " + strconv.Itoa(*c.Before)
	}
	return fmt.Sprintf("%-9s  %s", c.Event, what)
}

// words say who holds.
func (h *holder) words(kind string) string {
	mode := h.Mode
	if kind == leasehold.KindSemaphore.String() {
		mode = permits(h.Weight)
	}
	return fmt.Sprintf("%s, %s, token %d", quote.Text(h.Holder), mode, h.Token)
}

// words say what a node says.
func (n *node) words() string {
	said := n.Answer
	if n.Error != "" && n.Answer == "error" {
		said += ": " + oneLine(n.Error)
	}
	if n.Quarantine > 0 {
		said += ", in quarantine for " + left(&n.Quarantine)
	}
	return said
}

// left is what is left of a lease, in milliseconds, or nil for one without an end.
func left(ms *int64) string {
	if ms == nil {
		return ttl(driver.NoTTL)
	}
	return ttl(time.Duration(*ms) * time.Millisecond)
}
