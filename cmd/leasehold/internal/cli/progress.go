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
	// A search shows no progress before this: it would only flicker.
	progressDelay = 300 * time.Millisecond
	// progressInterval is the time between two updates.
	progressInterval = 100 * time.Millisecond
)

// progress shows on a terminal how far a search has come, and erases that at the end. It is safe for concurrent use.
type progress struct {
	out io.Writer // nil: show nothing

	mu    sync.Mutex
	next  time.Time // time of the next update
	shown bool
}

// progress returns a progress on standard error. It shows nothing unless that is a terminal.
func (a *app) progress() *progress {
	p := &progress{next: time.Now().Add(progressDelay)}
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
	p.next, p.shown = now.Add(progressInterval), true
	// There is nowhere to report a failed write.
	_, _ = fmt.Fprintf(p.out, "\rsearching: %d keys looked through\x1b[K", searched)
}

// whileHidden erases the progress and keeps it hidden while f prints.
func (p *progress) whileHidden(f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
	return f()
}

// end erases the progress.
func (p *progress) end() { _ = p.whileHidden(func() error { return nil }) }
