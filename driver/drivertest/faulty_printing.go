package drivertest

import (
	"fmt"
	"io"
)

// Format implements [fmt.Formatter]: every verb prints what it is, and nothing of the engine behind it.
func (f *Faulty) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "faulty engine") }
