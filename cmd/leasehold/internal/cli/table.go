//go:build unix

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/driver"
)

// printDetails prints what is known of one name.
func (a *app) printDetails(o observation) error {
	name, found, said := o.name, o.found, o.said
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	switch {
	case o.known && o.closed != nil && !held(found):
		fmt.Fprintf(w, "%s is not free: %s\n", quote.Name(name), o.closed)
	case o.closed != nil:
		fmt.Fprintln(w, o.closed)
	case o.known && !held(found):
		fmt.Fprintf(w, "%s is free\n", quote.Name(name))
	}
	for _, s := range found {
		if s.Latch != nil {
			fmt.Fprintf(w, "latch %s\tcount %d\tforgotten in %s\n", quote.Name(name), s.Latch.Count,
				formatTTL(s.Latch.TTL))
		}
		for _, h := range s.Holders {
			fmt.Fprintf(w, "%s %s\theld by %s\t%s\ttoken %d\tttl %s\theld for %s\n",
				s.Kind, quote.Name(name), quote.Text(h.Holder), holderMode(s, h), h.Token, formatTTL(h.TTL),
				formatAge(h.Age))
		}
		for i, q := range s.Queue {
			fmt.Fprintf(w, "%s %s\twaiting: %d. %s\t%s\t\t\tfor %s\n",
				s.Kind, quote.Name(name), i+1, quote.Text(q.Holder), modeOrPermits(s, q.Mode.String(), q.Weight),
				formatAge(q.Age))
		}
		if more := s.Waiting - len(s.Queue); more > 0 {
			fmt.Fprintf(w, "%s %s\twaiting: %d more\n", s.Kind, quote.Name(name), more)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, v := range said {
		fmt.Fprintf(w, "node %s\t%s\n", quote.Name(v.Node), describeVote(v))
	}
	return w.Flush()
}

// voteAnswer returns the answer of a node in a word or two.
func voteAnswer(v admin.Vote) string {
	switch {
	case errors.Is(v.Err, admin.ErrSilent):
		return "no answer"
	case v.Err != nil:
		return "error"
	case len(v.Holders) > 0:
		return "held"
	}
	return "free"
}

// describeVote returns the whole answer of a node.
func describeVote(v admin.Vote) string {
	said := []string{voteAnswer(v)}
	if said[0] == "error" {
		return "error: " + oneLine(v.Err.Error())
	}
	for _, h := range v.Holders {
		said[0] = "held by " + quote.Text(h.Holder)
		if h.Token != 0 {
			said = append(said, fmt.Sprint("token ", h.Token))
		}
		said = append(said, "ttl "+formatTTL(h.TTL))
	}
	if v.Closed > 0 {
		if len(v.Holders) == 0 { // it is not free there: it may have forgotten leases
			said = nil
		}
		said = append(said, "grants are closed for "+formatAge(v.Closed))
	}
	return strings.Join(said, ", ")
}

func holderMode(s admin.Status, h admin.Holder) string {
	mode := modeOrPermits(s, h.Mode.String(), h.Weight)
	if h.MayBeIdle {
		mode += ", may be idle"
	}
	return mode
}

// modeOrPermits returns the mode of a lock, or the number of permits.
func modeOrPermits(s admin.Status, mode string, weight int) string {
	if s.Kind != driver.Semaphore {
		return mode
	}
	return formatPermits(weight)
}

func formatPermits(n int) string {
	if n == 1 {
		return "1 permit"
	}
	return strconv.Itoa(n) + " permits"
}

func formatTTL(d time.Duration) string {
	if d < 0 {
		return "none"
	}
	return formatAge(d)
}

func formatAge(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// oneLine escapes control characters and the like, so that a name can neither break a table nor steer a terminal.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
