package postgres

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]: every verb prints what the engine is, and nothing of its inside, where owners are, and the password, and what changes meanwhile.
func (e *Engine) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "postgres engine")
}
