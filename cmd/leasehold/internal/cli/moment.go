//go:build unix

package cli

import "time"

// formatMoment returns a moment for people: RFC 3339 in the local zone, with its offset.
func formatMoment(t time.Time) string { return t.Local().Format(time.RFC3339) }

// jsonMoment returns a moment for programs: RFC 3339 in UTC, with milliseconds.
func jsonMoment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
