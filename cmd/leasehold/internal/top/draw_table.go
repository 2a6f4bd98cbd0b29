package top

import (
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// The columns, in order.
const (
	colKind = iota
	colName
	colHolder
	colToken
	colBar
	colTTL
	colAge
	colWaiting
	columns
)

var titles = [columns]string{"KIND", "NAME", "HOLDER", "TOKEN", "LEFT", "TTL", "HELD", "WAITING"}

// ranks are the columns in the order in which they get room.
var ranks = [...]int{colName, colWaiting, colAge, colTTL, colHolder, colBar, colKind, colToken}

const (
	gap       = 2
	leastFlex = 12 // name and holder are not made narrower than that for the sake of others
)

// bar is how many letters the bar has.
func (m *model) bar() int {
	if m.width < 100 {
		return 4
	}
	return 8
}

// tableHeight is how many rows there is room for.
func (m *model) tableHeight() int { return m.height - len(m.head()) - 1 - len(m.foot()) }

// tableBody is the table, with its head.
func (m *model) tableBody() [][]cell {
	rows := m.rows()
	widths := m.layout(rows)
	heads := [columns][]cell{}
	for i, t := range titles {
		heads[i] = m.script.letters(t)
	}
	lines := [][]cell{styled(m.cells(heads, widths), heading)}
	at := m.cursor(rows)
	for i := m.first; i < len(rows) && i < m.first+m.tableHeight(); i++ {
		l := m.cells(m.texts(rows[i]), widths)
		switch {
		case i == at:
			styled(l, chosen)
		case m.err != nil:
			styled(l, faint)
		}
		lines = append(lines, l)
	}
	if len(rows) == 0 && m.picture != nil {
		text := "nothing is held, and nobody waits"
		if m.view.filter != "" || m.typing || m.opts.Prefix != "" || m.opts.Kind != 0 {
			text = "nothing matches"
		}
		lines = append(lines, m.line().add(faint, text).done())
	}
	return lines
}

// texts are the cells of one row.
func (m *model) texts(r row) (out [columns][]cell) {
	put := func(col int, as style, text string) { out[col] = styled(m.script.letters(text), as) }
	put(colKind, plain, r.Kind.String())
	put(colName, strong, quote.Name(r.Name))
	waits := plain
	if r.Waiting > 0 {
		waits = warn
	}
	put(colWaiting, waits, count(r.Waiting))
	put(colAge, plain, "-")
	put(colTTL, plain, "-")
	put(colToken, plain, "-")
	switch {
	case r.Latch != nil:
		put(colHolder, plain, "count "+count(r.Latch.Count))
	case len(r.Holders) == 0:
		put(colHolder, faint, "free")
		return out
	default:
		text := quote.Text(r.Holders[0].Holder)
		if n := len(r.Holders) - 1; n > 0 {
			text = "+" + strconv.Itoa(n) + " " + text
		}
		put(colHolder, plain, text)
		put(colToken, plain, strconv.FormatUint(r.Holders[0].Token, 10))
		put(colAge, plain, span(r.age))
	}
	if r.ttl < 0 {
		put(colTTL, bad, "no end")
		return out
	}
	as, filled := m.left(r)
	put(colTTL, as, span(r.ttl))
	full, empty := "█", "░"
	if m.script.ascii || m.script.broad {
		full, empty = "#", "."
	}
	put(colBar, as, strings.Repeat(full, filled)+strings.Repeat(empty, m.bar()-filled))
	return out
}

// left says how much of a lease is left, of the most that was seen: as letters of the bar, and how that looks. A lease that is renewed has two thirds
// of its ttl at least.
func (m *model) left(r row) (style, int) {
	if r.full <= 0 {
		return bad, 0
	}
	filled := int((r.ttl*time.Duration(m.bar()) + r.full - 1) / r.full)
	switch {
	case r.Latch != nil:
		return plain, filled
	case r.ttl <= r.full/3:
		return bad, filled
	case r.ttl <= r.full/2:
		return warn, filled
	}
	return good, filled
}

// layout says how wide each column is; 0 leaves it out.
func (m *model) layout(rows []row) (widths [columns]int) {
	var want [columns]int
	for i, t := range titles {
		want[i] = len(t)
	}
	for _, r := range rows[min(m.first, len(rows)):min(len(rows), m.first+max(0, m.tableHeight()))] {
		for i, c := range m.texts(r) {
			want[i] = max(want[i], wide(c))
		}
	}
	left := m.width
	for _, col := range ranks {
		need := want[col]
		if col == colName || col == colHolder {
			need = min(need, leastFlex)
		}
		if col != colName {
			need += gap
		}
		if col == colName {
			need = min(need, left)
		}
		if need > left {
			break // none of a lower rank takes its place
		}
		left -= need
		if widths[col] = need; col != colName {
			widths[col] -= gap
		}
	}
	for ; left > 0; left-- { // to the one that is narrower
		col := colName
		if widths[colName] >= want[colName] || widths[colHolder] > 0 && widths[colHolder] < min(want[colHolder], widths[colName]) {
			col = colHolder
		}
		if widths[col] == 0 || widths[col] >= want[col] {
			break
		}
		widths[col]++
	}
	return widths
}

// cells puts the cells of a row beside each other. Numbers stand at the right of their columns.
func (m *model) cells(texts [columns][]cell, widths [columns]int) []cell {
	var l []cell
	for col, width := range widths {
		if width == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, spaces(gap)...)
		}
		text := texts[col]
		if col >= colTTL || col == colToken {
			text = append(spaces(max(0, width-wide(text))), text...)
		}
		l = append(l, m.script.fit(text, width)...)
	}
	return m.script.fit(l, m.width)
}
