//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// printer prints a listing as it arrives.
type printer interface {
	// add adds an entry.
	add(s admin.Status)
	// flush prints the entries added so far, if the form allows it.
	flush() error
	// end prints the rest.
	end() error
}

func (a *app) printer(form string) printer {
	switch form {
	case "json":
		return &arrayPrinter{app: a}
	case "jsonl":
		return newLinePrinter(a.out)
	}
	return newTablePrinter(a.out)
}

const (
	// A chunk of a listing is printed after this many entries,
	chunkSize = 500
	// or after this long.
	chunkTime = 200 * time.Millisecond
)

// pace decides when the next chunk of a listing is printed.
type pace struct {
	entries int
	since   time.Time
}

// due counts an entry, and reports whether it completes a chunk.
func (p *pace) due() bool {
	now := time.Now()
	if p.entries == 0 {
		p.since = now
	}
	p.entries++
	if p.entries < chunkSize && now.Sub(p.since) < chunkTime {
		return false
	}
	p.entries = 0
	return true
}

// tablePrinter prints a line for each holder, and one for each name that is only waited for.
type tablePrinter struct{ table columns }

func newTablePrinter(out io.Writer) *tablePrinter {
	p := &tablePrinter{columns{out: out}}
	p.table.addRow("KIND", "NAME", "MODE", "TOKEN", "TTL", "HELD FOR", "WAITING", "HOLDER")
	return p
}

func (p *tablePrinter) add(s admin.Status) {
	row := func(mode, token, ttl, age, holder string) {
		p.table.addRow(s.Kind.String(), quote.Name(s.Name), mode, token, ttl, age, strconv.Itoa(s.Waiting), holder)
	}
	for _, h := range s.Holders {
		row(holderMode(s, h), strconv.FormatUint(h.Token, 10), formatTTL(h.TTL), formatAge(h.Age), quote.Text(h.Holder))
	}
	switch {
	case s.Latch != nil:
		row("count "+strconv.Itoa(s.Latch.Count), "-", formatTTL(s.Latch.TTL), "-", "-")
	case len(s.Holders) == 0:
		row("free", "-", "-", "-", "-")
	}
}

func (p *tablePrinter) flush() error { return p.table.flush() }
func (p *tablePrinter) end() error   { return p.table.flush() }

// arrayPrinter prints one array, at the end: half an array is useless.
type arrayPrinter struct {
	app *app
	all []admin.Status
}

func (p *arrayPrinter) add(s admin.Status) { p.all = append(p.all, s) }
func (p *arrayPrinter) flush() error       { return nil }
func (p *arrayPrinter) end() error         { return p.app.printJSON(entries(p.all)) }

// linePrinter prints one object a line.
type linePrinter struct {
	out *bufio.Writer
	enc *json.Encoder
}

func newLinePrinter(out io.Writer) *linePrinter {
	buffered := bufio.NewWriter(out)
	return &linePrinter{buffered, encoder(buffered)}
}

// add encodes an entry. Flush returns the error of a failed write.
func (p *linePrinter) add(s admin.Status) { _ = p.enc.Encode(newEntry(s)) }
func (p *linePrinter) flush() error       { return p.out.Flush() }
func (p *linePrinter) end() error         { return p.out.Flush() }
