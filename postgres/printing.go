package postgres

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]: every verb prints only what the engine is. Its fields contain owners and the
// password, and change concurrently.
func (e *Engine) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "postgres engine")
}
