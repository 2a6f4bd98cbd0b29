package once

import (
	"cmp"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/argument"
)

// Tick is what a run is for: a time of a schedule, or a key. All ticks of one job are of the same sort. The zero Tick
// is none.
type Tick struct {
	time time.Time
	key  string
}

// At returns the tick of a moment: when the work is due, not when it happens to run. Ticks are in the order of time, in
// whatever zone.
func At(t time.Time) Tick { return Tick{time: t.Round(0)} }

// Key returns the tick with a key: 1 to 1024 bytes of valid UTF-8 without NUL, such as the date of a migration. Ticks
// are in the order of their bytes, so "9" comes after "10". Keys without an order, such as the ids of commits, need a
// job each.
func Key(key string) Tick { return Tick{key: key} }

// Time returns the moment, or the zero Time for a key.
func (t Tick) Time() time.Time { return t.time }

// IsZero reports whether t is the zero Tick.
func (t Tick) IsZero() bool { return t.key == "" && t.time.IsZero() }

// String returns the time in RFC 3339, or the key.
func (t Tick) String() string {
	if t.time.IsZero() {
		return t.key
	}
	return t.time.Format(time.RFC3339Nano)
}

// check returns an error for a tick that cannot be stored.
func (t Tick) check() error {
	switch {
	case !t.time.IsZero():
		if year := t.time.Year(); year < 1 || year > 9999 {
			return &leasehold.ValueError{Field: "tick", Value: t.String(), Allowed: "in the years 1 to 9999"}
		}
		return nil
	case argument.IsText(t.key):
		return nil
	}
	return &leasehold.ValueError{
		Field: "tick", Value: argument.Describe(t.key), Allowed: "a time, or " + argument.AllowedText,
	}
}

// compare orders ticks. Both are not zero.
func (t Tick) compare(other Tick) (int, error) {
	if t.time.IsZero() != other.time.IsZero() {
		return 0, &leasehold.ValueError{
			Field: "tick", Value: strconv.Quote(t.String()),
			Allowed: "a time or a key as the ticks of this job before, such as " + strconv.Quote(other.String()),
		}
	}
	return cmp.Or(t.time.Compare(other.time), cmp.Compare(t.key, other.key)), nil
}
