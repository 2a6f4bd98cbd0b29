// Package schedule reads schedules as crontab(5) has them.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/leasehold-go/leasehold/once"
)

// parser reads the five fields of crontab(5), and words such as @hourly.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads a schedule whose times are those of a zone. All machines get the same ticks.
//
// What is due in an hour that a change of the clock leaves out is due when the clock has been changed, once. What is
// due in an hour that occurs twice is due in the first of them, unless the schedule names every hour (*): then it is
// due in both.
func Parse(text string, zone *time.Location) (once.Schedule, error) {
	switch {
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("the ticks of @every depend on when it was begun")
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, errors.New("the zone is not part of the schedule")
	}
	parsed, err := parser.Parse(text)
	spec, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil, fmt.Errorf("it must have the five fields of crontab(5), as '0 3 * * *', or be one of @hourly, "+
			"@daily, @weekly, @monthly and @yearly (%w)", err)
	}
	const everyHour = 1 << 63 // package cron marks a * so
	if spec.Hour&everyHour != 0 {
		spec.Location = zone
		return elapsed{spec}, nil
	}
	spec.Location = time.UTC
	return fixed{spec, zone}, nil
}

// elapsed is a schedule that names every hour: it is due in each hour that elapses.
type elapsed struct{ spec *cron.SpecSchedule }

// Next implements [once.Schedule].
func (s elapsed) Next(t time.Time) time.Time { return s.spec.Next(t.In(s.spec.Location)) }

// fixed is a schedule of hours, as clocks in a zone show them. The spec is evaluated as if the clocks of the zone were
// those of UTC, which are never changed.
type fixed struct {
	spec *cron.SpecSchedule
	zone *time.Location
}

// Next implements [once.Schedule].
func (s fixed) Next(t time.Time) time.Time {
	t = t.In(s.zone)
	for shown := asUTC(t); ; {
		if shown = s.spec.Next(shown); shown.IsZero() {
			return time.Time{}
		}
		if at := s.first(shown); at.After(t) {
			return at
		}
	}
}

// asUTC returns the moment at which clocks in UTC show what t shows.
func asUTC(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// first returns the first moment at which clocks of the zone show a time. If they never do, it is when they were
// changed.
func (s fixed) first(shown time.Time) time.Time {
	at := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), 0, 0, s.zone)
	since, until := at.ZoneBounds()
	if is := asUTC(at); is.After(shown) { // it is in the gap, and Go has used the offset from before it
		return since
	} else if is.Before(shown) { // that from after it
		return until
	}
	if since.IsZero() {
		return at
	}
	before := since.Add(-1)
	_, offset := before.In(s.zone).Zone()
	if earlier := shown.Add(-time.Duration(offset) * time.Second).In(s.zone); earlier.Before(since) {
		return earlier
	}
	return at
}
