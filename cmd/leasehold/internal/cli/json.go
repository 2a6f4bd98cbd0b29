//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
)

// The JSON forms. Their field names are part of the interface: fields may be added, none is renamed. Durations are
// milliseconds; null means not known, or no end.

type inspection struct {
	Name    string  `json:"name"`
	Free    *bool   `json:"free"` // null if that is not known
	Entries []entry `json:"entries"`
	Nodes   []node  `json:"nodes,omitempty"`
	closure
}

// closure says that grants are closed.
type closure struct {
	Until  string `json:"closed_until,omitempty"`
	Reason string `json:"closed_reason,omitempty"`
}

func newClosure(closed *leasehold.GrantsClosedError) closure {
	if closed == nil {
		return closure{}
	}
	return closure{closed.Open.UTC().Format(time.RFC3339), closed.Reason}
}

type node struct {
	Node       string   `json:"node"`
	Answer     string   `json:"answer"` // free, held, no answer, error
	Holders    []holder `json:"holders"`
	Quarantine int64    `json:"quarantine_ms"`
	Error      string   `json:"error,omitempty"`
}

type entry struct {
	Kind    string      `json:"kind"`
	Name    string      `json:"name"`
	Holders []holder    `json:"holders"`
	Waiting int         `json:"waiting"`
	Queue   []waiter    `json:"queue,omitempty"`
	Latch   *latchState `json:"latch,omitempty"`
}

type holder struct {
	Token  uint64 `json:"token"`
	Mode   string `json:"mode"`
	Weight int    `json:"weight"`
	Holder string `json:"holder"`
	process
	TTL       *int64 `json:"ttl_ms"`
	Age       *int64 `json:"age_ms"`
	MayBeIdle bool   `json:"may_be_idle,omitempty"`
}

type waiter struct {
	Mode   string `json:"mode"`
	Weight int    `json:"weight"`
	Holder string `json:"holder"`
	process
	Age *int64 `json:"age_ms"`
}

// process is what the holder text says, if it can be parsed.
type process struct {
	User    string `json:"user,omitempty"`
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Label   string `json:"label,omitempty"`
}

func processOf(text string) process {
	p, _ := admin.ParseHolder(text) // it returns the zero value if the text cannot be parsed
	return process(p)
}

type latchState struct {
	Count int    `json:"count"`
	TTL   *int64 `json:"ttl_ms"`
}

func newInspection(o observation) inspection {
	i := inspection{Name: o.name, Entries: entries(o.found), closure: newClosure(o.closed)}
	if isHeld := held(o.found); o.known && (isHeld || o.closed == nil) {
		i.Free = new(!isHeld)
	}
	for _, v := range o.said {
		i.Nodes = append(i.Nodes, newNode(v))
	}
	return i
}

func newNode(v admin.Vote) node {
	n := node{Node: v.Node, Answer: voteAnswer(v), Holders: holders(v.Holders),
		Quarantine: max(v.Closed.Milliseconds(), 0)}
	if v.Err != nil {
		n.Error = v.Err.Error()
	}
	return n
}

func holders(all []admin.Holder) []holder {
	list := make([]holder, 0, len(all)) // [], not null
	for _, h := range all {
		list = append(list, newHolder(h))
	}
	return list
}

func newHolder(h admin.Holder) holder {
	return holder{
		Token: h.Token, Mode: h.Mode.String(), Weight: h.Weight, Holder: h.Holder, process: processOf(h.Holder),
		TTL: millis(h.TTL), Age: millis(h.Age), MayBeIdle: h.MayBeIdle,
	}
}

func entries(all []admin.Status) []entry {
	list := make([]entry, 0, len(all)) // [], not null
	for _, s := range all {
		list = append(list, newEntry(s))
	}
	return list
}

func newEntry(s admin.Status) entry {
	e := entry{Kind: s.Kind.String(), Name: s.Name, Holders: holders(s.Holders), Waiting: s.Waiting}
	for _, w := range s.Queue {
		e.Queue = append(e.Queue, waiter{
			Mode: w.Mode.String(), Weight: w.Weight, Holder: w.Holder, process: processOf(w.Holder), Age: millis(w.Age),
		})
	}
	if s.Latch != nil {
		e.Latch = &latchState{Count: s.Latch.Count, TTL: millis(s.Latch.TTL)}
	}
	return e
}

// millis returns d in milliseconds, or nil for negative values, which stand for something else.
func millis(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// printJSON writes v to standard output, on one line.
func (a *app) printJSON(v any) error { return encoder(a.out).Encode(v) }

// encoder returns an encoder that writes one line for each value.
func encoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(escapingWriter{out})
	e.SetEscapeHTML(false)
	return e
}

// escapingWriter escapes what package encoding/json leaves as it is although it can steer a terminal: U+009B, which
// begins a control sequence, or U+202E, which reverses the direction of text.
type escapingWriter struct{ out io.Writer }

// Write must be called with whole values.
func (p escapingWriter) Write(text []byte) (int, error) {
	unseen := func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }
	if !bytes.ContainsFunc(text, unseen) {
		return p.out.Write(text)
	}
	escaped := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range string(text) {
		if !unseen(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	if _, err := p.out.Write(escaped); err != nil {
		return 0, err
	}
	return len(text), nil
}

// output is the flag -o.
type output struct{ choice }

func newOutput(more ...string) *output {
	return &output{choice{value: "table", allowed: append([]string{"table", "json"}, more...)}}
}

func (o *output) register(cmd *cobra.Command) {
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the output")
}
