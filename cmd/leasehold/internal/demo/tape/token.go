package tape

import (
	"fmt"
	"slices"
)

// Says returns the text of a mark. Tokens are large numbers, made from clocks, so it counts them instead: 1 is the smallest of the
// recording, 2 the next.
func (r Recording) Says(m Mark) string {
	switch {
	case m.Newest != 0:
		return fmt.Sprintf("%s: token %d, seen %d", m.Text, r.rank(m.Token), r.rank(m.Newest))
	case m.Token != 0:
		return fmt.Sprintf("token %d, %s", r.rank(m.Token), m.Text)
	}
	return m.Text
}

// rank is which of all tokens one is.
func (r Recording) rank(token uint64) int {
	var all []uint64
	for _, l := range r.Lanes {
		for _, m := range l.Marks {
			all = append(all, m.Token, m.Newest)
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(t uint64) bool { return t == 0 })
	return slices.Index(all, token) + 1
}
