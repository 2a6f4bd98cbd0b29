//go:build !linux

package servers

import "time"

// ProcessorTime is not available on this system.
func ProcessorTime(int) time.Duration { return 0 }
