//go:build unix

package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

const (
	// A search that is over so soon shows no progress: it would only flicker.
	quietAtFirst = 300 * time.Millisecond
	// progressBeat is how often progress is shown anew.
	progressBeat = 100 * time.Millisecond
)

// progress shows on a terminal how far a search has come, in a line that is gone in the end. It is safe for concurrent use.
type progress struct {
	out io.Writer // nil if nobody would see it

	mu    sync.Mutex
	next  time.Time // when it is shown again
	shown bool
}

// progress returns one for standard error, which says nothing unless that is a terminal.
func (a *app) progress() *progress {
	p := &progress{next: time.Now().Add(quietAtFirst)}
	if file, ok := a.err.(*os.File); ok && terminal.IsTerminal(file) {
		p.out = file
	}
	return p
}

// show is a Query.Progress.
func (p *progress) show(searched int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.out == nil || now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressBeat), true
	// What cannot be shown has nowhere else to go.
	_, _ = fmt.Fprintf(p.out, "\rsearching: %d keys looked through\x1b[K", searched)
}

// aside erases the line, and keeps it away while f prints.
func (p *progress) aside(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
	return f()
}

// end erases the line.
func (p *progress) end() { _ = p.aside(func() error { return nil }) }
