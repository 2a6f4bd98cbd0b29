package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/once"
)

func parse(t *testing.T, text, zone string) once.Schedule {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(text, place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ticksBetween returns the ticks of a schedule in UTC.
func ticksBetween(s once.Schedule, from, to time.Time) (all []string) {
	for at := s.Next(from); !at.IsZero() && at.Before(to); at = s.Next(at) {
		all = append(all, at.UTC().Format("02 15:04"))
	}
	return all
}

func TestTicksAtChangesOfTheClock(t *testing.T) {
	t.Parallel()
	march := time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)    // at 1:00 UTC on the 29th, 2:00 becomes 3:00
	october := time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC) // at 1:00 UTC on the 25th, 3:00 becomes 2:00
	for _, c := range []struct {
		text string
		from time.Time
		want []string
	}{
		{"30 2 * * *", march, []string{"29 01:00", "30 00:30"}},
		{"*/20 2 * * *", march, []string{"29 01:00", "30 00:00", "30 00:20", "30 00:40"}},
		{"0,30 1-3 29 * *", march, []string{"29 00:00", "29 00:30", "29 01:00", "29 01:30"}},
		{"30 1 * * *", march, []string{"29 00:30", "29 23:30"}},
		{"0 3 * * *", march, []string{"29 01:00", "30 01:00"}},
		{"30 2 * * *", october, []string{"25 00:30", "26 01:30"}},
		{"0,30 1-3 25 * *", october, []string{"24 23:00", "24 23:30", "25 00:00", "25 00:30", "25 02:00", "25 02:30"}},
		{"0 3 * * *", october, []string{"25 02:00", "26 02:00"}},
	} {
		got := ticksBetween(parse(t, c.text, "Europe/Berlin"), c.from, c.from.Add(31*time.Hour))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s after %s: %v, want %v", c.text, c.from.Format(time.DateOnly), got, c.want)
		}
	}
	for _, from := range []time.Time{march, october} {
		for text, want := range map[string]int{"@hourly": 30, "*/10 * * * *": 185} {
			if got := ticksBetween(parse(t, text, "Europe/Berlin"), from, from.Add(31*time.Hour)); len(got) != want {
				t.Errorf("%s after %s: %d ticks, want %d", text, from.Format(time.DateOnly), len(got), want)
			}
		}
	}
	// Half an hour, at midnight, and the day that Samoa left out.
	howe := time.Date(2026, 4, 4, 10, 0, 0, 0, time.UTC)
	got := ticksBetween(parse(t, "45 1 * * *", "Australia/Lord_Howe"), howe, howe.Add(24*time.Hour))
	if !slices.Equal(got, []string{"04 14:45"}) {
		t.Errorf("Lord Howe: %v", got)
	}
	apia := time.Date(2011, 12, 29, 12, 0, 0, 0, time.UTC)
	got = ticksBetween(parse(t, "0 12 * * *", "Pacific/Apia"), apia, apia.Add(48*time.Hour))
	if !slices.Equal(got, []string{"29 22:00", "30 10:00", "30 22:00"}) {
		t.Errorf("Samoa: %v", got)
	}
}

// All machines find the same tick, whatever their own zone is, and ticks never go back.
func TestMachinesFindTheSameTick(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("", 9*3600)
	for _, text := range []string{"*/20 2 * * *", "@hourly", "7 1-4 * * *"} {
		s := parse(t, text, "Europe/Berlin")
		for _, day := range []time.Time{
			time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
		} {
			last := time.Time{}
			for at := day; at.Before(day.Add(4 * time.Hour)); at = at.Add(7 * time.Second) {
				here, there := once.Latest(s, at), once.Latest(s, at.In(tokyo))
				if here.IsZero() || once.At(here).String() != once.At(there).String() || here.After(at) ||
					here.Before(last) {
					t.Fatalf("%s: at %v one finds %v, the other %v, after %v", text, at, here, there, last)
				}
				last = here
			}
		}
	}
}

func TestSchedulesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "five fields", "0 3 * *": "five fields", "0 0 3 * * *": "five fields", "61 * * * *": "five fields",
		"@every 1h": "when it was begun", "TZ=UTC 0 3 * * *": "zone", "TZ=": "zone", "CRON_TZ=": "zone",
		"@often": "five fields",
	} {
		if _, err := Parse(text, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if s := parse(t, "0 0 30 2 *", "UTC"); !s.Next(time.Now()).IsZero() || !once.Latest(s, time.Now()).IsZero() {
		t.Error("30 February has a tick")
	}
}
