package redis

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]. Every verb prints that this is a Redis engine, and none of its fields, which hold
// owners, the password, and values that change meanwhile.
func (e *Engine) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "redis engine")
}
