package quorum

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]. Every verb prints what the engine is and none of its fields: these hold owners,
// and change while they are printed.
func (e *Engine) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, e.Name+" engine")
}
