package timeline

import (
	"fmt"
	"slices"
)

// Label returns the text of an event. Tokens are large numbers made from clocks, so it numbers them instead: 1 is the
// smallest of the timeline.
func (r Timeline) Label(m Point) string {
	switch {
	case m.Newest != 0:
		return fmt.Sprintf("%s: token %d, seen %d", m.Text, r.tokenRank(m.Token), r.tokenRank(m.Newest))
	case m.Token != 0:
		return fmt.Sprintf("token %d, %s", r.tokenRank(m.Token), m.Text)
	}
	return m.Text
}

// tokenRank returns the position of a token among all tokens.
func (r Timeline) tokenRank(token uint64) int {
	var all []uint64
	for _, l := range r.Lanes {
		for _, m := range l.Points {
			all = append(all, m.Token, m.Newest)
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(t uint64) bool { return t == 0 })
	return slices.Index(all, token) + 1
}
