package sqlite

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]: every verb prints the kind of the engine, and nothing of its fields, which have
// owners and change concurrently.
func (e *Engine) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "sqlite engine")
}
