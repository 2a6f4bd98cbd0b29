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

// ranks are the columns in the order in which they get space.
var ranks = [...]int{colName, colWaiting, colAge, colTTL, colHolder, colBar, colKind, colToken}

const (
	gap          = 2
	minFlexWidth = 12 // the width that name and holder keep as long as others need space
)

// barWidth returns how many letters the bar has.
func (m *model) barWidth() int {
	if m.width < 100 {
		return 4
	}
	return 8
}

// tableHeight returns how many rows fit on the screen.
func (m *model) tableHeight() int { return m.height - len(m.head()) - 1 - len(m.foot()) }

// tableBody returns the table with its head.
func (m *model) tableBody() [][]cell {
	rows := m.rows()
	widths := m.columnWidths(rows)
	heads := [columns][]cell{}
	for i, t := range titles {
		heads[i] = m.charset.letters(t)
	}
	lines := [][]cell{setStyle(m.joinCells(heads, widths), heading)}
	at := m.cursor(rows)
	for i := m.topRow; i < len(rows) && i < m.topRow+m.tableHeight(); i++ {
		l := m.joinCells(m.cellTexts(rows[i]), widths)
		switch {
		case i == at:
			setStyle(l, marked)
		case m.err != nil:
			setStyle(l, faint)
		}
		lines = append(lines, l)
	}
	if len(rows) == 0 && m.snapshot != nil {
		text := "nothing is held, and nobody waits"
		if m.view.filter != "" || m.typing || m.opts.Prefix != "" || m.opts.Kind != 0 {
			text = "nothing matches"
		}
		lines = append(lines, m.line().add(faint, text).done())
	}
	return lines
}

// cellTexts returns the cells of one row.
func (m *model) cellTexts(r row) (out [columns][]cell) {
	put := func(col int, as style, text string) { out[col] = setStyle(m.charset.letters(text), as) }
	put(colKind, plain, r.Kind.String())
	put(colName, strong, quote.Name(r.Name))
	waits := plain
	if r.Waiting > 0 {
		waits = warn
	}
	put(colWaiting, waits, formatCount(r.Waiting))
	put(colAge, plain, "-")
	put(colTTL, plain, "-")
	put(colToken, plain, "-")
	switch {
	case r.Latch != nil:
		put(colHolder, plain, "count "+formatCount(r.Latch.Count))
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
		put(colAge, plain, formatDuration(r.age))
	}
	if r.ttl < 0 {
		put(colTTL, bad, "no end")
		return out
	}
	as, filled := m.remaining(r)
	put(colTTL, as, formatDuration(r.ttl))
	full, empty := "█", "░"
	if m.charset.ascii || m.charset.wideAmbiguous {
		full, empty = "#", "."
	}
	put(colBar, as, strings.Repeat(full, filled)+strings.Repeat(empty, m.barWidth()-filled))
	return out
}

// remaining returns how much of a lease is left, compared to the most that was seen: the number of filled letters of
// the bar, and its style. A lease that is renewed has at least two thirds of its ttl left.
func (m *model) remaining(r row) (style, int) {
	if r.maxTTL <= 0 {
		return bad, 0
	}
	filled := int((r.ttl*time.Duration(m.barWidth()) + r.maxTTL - 1) / r.maxTTL)
	switch {
	case r.Latch != nil:
		return plain, filled
	case r.ttl <= r.maxTTL/3:
		return bad, filled
	case r.ttl <= r.maxTTL/2:
		return warn, filled
	}
	return good, filled
}

// columnWidths returns the width of each column; 0 leaves it out.
func (m *model) columnWidths(rows []row) (widths [columns]int) {
	var want [columns]int
	for i, t := range titles {
		want[i] = len(t)
	}
	for _, r := range rows[min(m.topRow, len(rows)):min(len(rows), m.topRow+max(0, m.tableHeight()))] {
		for i, c := range m.cellTexts(r) {
			want[i] = max(want[i], cellsWidth(c))
		}
	}
	left := m.width
	for _, col := range ranks {
		need := want[col]
		if col == colName || col == colHolder {
			need = min(need, minFlexWidth)
		}
		if col != colName {
			need += gap
		}
		if col == colName {
			need = min(need, left)
		}
		if need > left {
			break // no column of a lower rank takes its space
		}
		left -= need
		if widths[col] = need; col != colName {
			widths[col] -= gap
		}
	}
	for ; left > 0; left-- { // to the narrower of both columns
		col := colName
		if widths[colName] >= want[colName] ||
			widths[colHolder] > 0 && widths[colHolder] < min(want[colHolder], widths[colName]) {
			col = colHolder
		}
		if widths[col] == 0 || widths[col] >= want[col] {
			break
		}
		widths[col]++
	}
	return widths
}

// joinCells puts the cells of a row next to each other. Numbers are right-aligned.
func (m *model) joinCells(texts [columns][]cell, widths [columns]int) []cell {
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
			text = append(spaces(max(0, width-cellsWidth(text))), text...)
		}
		l = append(l, m.charset.fit(text, width)...)
	}
	return m.charset.fit(l, m.width)
}
