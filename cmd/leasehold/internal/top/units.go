package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errorLine returns the text of an error without the library's name.
func errorLine(err error) string { return strings.TrimPrefix(err.Error(), "leasehold: ") }

// formatDuration returns a short text for a duration.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		seconds := strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64)
		return strings.TrimSuffix(seconds, ".0") + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// formatCount writes a number in groups of three digits.
func formatCount(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func formatRate(f float64) string {
	if f >= 10 {
		return formatCount(int(f + 0.5))
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}
