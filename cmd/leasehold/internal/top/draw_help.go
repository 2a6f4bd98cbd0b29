package top

var keys = [...]struct{ key, what string }{
	{"up down, k j", "move the selection"},
	{"page up, page down", "move it by a screen"},
	{"home end, g G", "to the first and the last name"},
	{"enter", "open the name: holders, queue, what each server says"},
	{"esc", "back; in the table: no filter"},
	{"/", "show only names and holders that contain a text"},
	{"w h n t", "sort by waiting, held for, name, ttl; once more: reversed"},
	{"p", "pause, and go on"},
	{"+ -", "poll more often, less often"},
	{"ctrl-L", "redraw the screen"},
	{"ctrl-Z", "suspend; fg goes on"},
	{"q, ctrl-C", "quit"},
}

// notes explain the numbers.
var notes = [...]string{
	"A poll goes through all names, or the first 200,000, for 30 seconds at most. All of them are counted; the table " +
		"keeps the first 1,000 in its order.",
	"Times are as of the poll. The bar shows what is left of a lease, compared to the most that was seen: it " +
		"becomes empty if nobody renews the lease.",
	"Grants and releases are those between two polls: what comes and goes between them is not seen.",
}

func (m *model) helpLines() [][]cell {
	lines := [][]cell{m.line().add(strong, "leasehold top").done(), nil}
	for _, k := range keys {
		lines = append(lines, m.line().add(strong, k.key).add(plain, padding(k.key)+k.what).done())
	}
	for _, n := range notes {
		lines = append(lines, nil)
		lines = append(lines, m.wrap(faint, n, "")...)
	}
	return lines
}

// padding returns the spaces that align the texts behind the keys.
func padding(key string) string {
	const column = "                      "
	return column[min(len(column)-2, len(key)):]
}
