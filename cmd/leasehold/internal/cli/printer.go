//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// printer prints a listing while it comes.
type printer interface {
	// add takes an entry.
	add(s leasehold.Status)
	// piece prints what was added, if the form comes in pieces.
	piece() error
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
	// A piece of a listing is printed when so many entries have come,
	pieceSize = 500
	// or for so long.
	pieceTime = 200 * time.Millisecond
)

// pace says when a piece of a listing should be printed.
type pace struct {
	entries int
	since   time.Time
}

// due counts an entry, and reports whether it is the last of its piece.
func (p *pace) due() bool {
	now := time.Now()
	if p.entries == 0 {
		p.since = now
	}
	p.entries++
	if p.entries < pieceSize && now.Sub(p.since) < pieceTime {
		return false
	}
	p.entries = 0
	return true
}

// tablePrinter writes one line for each holder, and one for each name that is only waited for.
type tablePrinter struct{ table columns }

func newTablePrinter(out io.Writer) *tablePrinter {
	p := &tablePrinter{columns{out: out}}
	p.table.row("KIND", "NAME", "MODE", "TOKEN", "TTL", "HELD FOR", "WAITING", "HOLDER")
	return p
}

func (p *tablePrinter) add(s leasehold.Status) {
	row := func(mode, token, ttl, age, holder string) {
		p.table.row(s.Kind.String(), quote.Name(s.Name), mode, token, ttl, age, strconv.Itoa(s.Waiting), holder)
	}
	for _, h := range s.Holders {
		row(mode(s, h), strconv.FormatUint(h.Token, 10), ttl(h.TTL), age(h.Age), quote.Text(h.Holder))
	}
	switch {
	case s.Latch != nil:
		row("count "+strconv.Itoa(s.Latch.Count), "-", ttl(s.Latch.TTL), "-", "-")
	case len(s.Holders) == 0:
		row("free", "-", "-", "-", "-")
	}
}

func (p *tablePrinter) piece() error { return p.table.flush() }
func (p *tablePrinter) end() error   { return p.table.flush() }

// arrayPrinter writes one array, when all is there: half an array is of no use to anybody.
type arrayPrinter struct {
	app *app
	all []leasehold.Status
}

func (p *arrayPrinter) add(s leasehold.Status) { p.all = append(p.all, s) }
func (p *arrayPrinter) piece() error           { return nil }
func (p *arrayPrinter) end() error             { return p.app.printJSON(entries(p.all)) }

// linePrinter writes one object a line.
type linePrinter struct {
	out *bufio.Writer
	enc *json.Encoder
}

func newLinePrinter(out io.Writer) *linePrinter {
	buffered := bufio.NewWriter(out)
	return &linePrinter{buffered, encoder(buffered)}
}

func (p *linePrinter) add(s leasehold.Status) { _ = p.enc.Encode(newEntry(s)) } // a failed write is told by Flush
func (p *linePrinter) piece() error           { return p.out.Flush() }
func (p *linePrinter) end() error             { return p.out.Flush() }
