//go:build unix

package cli

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
)

// The JSON forms. Their field names are an interface: fields may be added, none is renamed.
// Durations are milliseconds; null means not known, or no end.

type inspection struct {
	Name    string  `json:"name"`
	Free    *bool   `json:"free"` // null if too few nodes have answered to know
	Entries []entry `json:"entries"`
	Nodes   []node  `json:"nodes,omitempty"`
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
	TTL    *int64 `json:"ttl_ms"`
	Age    *int64 `json:"age_ms"`
}

type waiter struct {
	Mode   string `json:"mode"`
	Weight int    `json:"weight"`
	Holder string `json:"holder"`
	Age    *int64 `json:"age_ms"`
}

type latchState struct {
	Count int    `json:"count"`
	TTL   *int64 `json:"ttl_ms"`
}

func inspect(name string, found []leasehold.Status, known bool, said []leasehold.Vote) inspection {
	i := inspection{Name: name, Entries: entries(found)}
	if known {
		i.Free = new(!held(found))
	}
	for _, v := range said {
		n := node{Node: v.Place, Answer: answer(v), Holders: holders(v.Holders), Quarantine: max(v.Closed.Milliseconds(), 0)}
		if v.Err != nil {
			n.Error = v.Err.Error()
		}
		i.Nodes = append(i.Nodes, n)
	}
	return i
}

func holders(all []leasehold.Holder) []holder {
	list := make([]holder, 0, len(all)) // [] rather than null
	for _, h := range all {
		list = append(list, holder{
			Token: h.Token, Mode: h.Mode.String(), Weight: h.Weight, Holder: h.Holder, TTL: millis(h.TTL), Age: millis(h.Age),
		})
	}
	return list
}

func entries(all []leasehold.Status) []entry {
	list := make([]entry, 0, len(all)) // [] rather than null
	for _, s := range all {
		e := entry{Kind: s.Kind.String(), Name: s.Name, Holders: holders(s.Holders), Waiting: s.Waiting}
		for _, w := range s.Queue {
			e.Queue = append(e.Queue, waiter{Mode: w.Mode.String(), Weight: w.Weight, Holder: w.Holder, Age: millis(w.Age)})
		}
		if s.Latch != nil {
			e.Latch = &latchState{Count: s.Latch.Count, TTL: millis(s.Latch.TTL)}
		}
		list = append(list, e)
	}
	return list
}

// millis is d in milliseconds, or nil for the negative values that stand for something else.
func millis(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// printJSON writes v on standard output, on one line.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// output is the flag -o.
type output struct{ choice }

func newOutput() *output {
	return &output{choice{word: "table", allowed: []string{"table", "json"}}}
}

func (o *output) register(cmd *cobra.Command) {
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the output")
}
