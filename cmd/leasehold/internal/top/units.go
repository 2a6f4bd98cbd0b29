package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// because makes one line of an error.
func because(err error) string { return strings.TrimPrefix(err.Error(), "leasehold: ") }

// span is a duration, short.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', 1, 64), ".0") + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// count writes a number in groups of three digits.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func rate(f float64) string {
	if f >= 10 {
		return count(int(f + 0.5))
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}
