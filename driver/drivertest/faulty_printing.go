package drivertest

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]: every verb prints a fixed text, and nothing of the wrapped
// engine.
func (f *Faulty) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "faulty engine") }
