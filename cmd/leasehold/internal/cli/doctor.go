//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) doctor() *cobra.Command {
	output, ttl, maxWaiters := newOutput(), period(leasehold.DefaultTTL), leasehold.DefaultMaxWaiters
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what endangers locks, and say what to do about it",
		Long: `Find what endangers locks, and say what to do about it.

It looks at each place where the engine keeps locks: version, role, how long it has run, how long an answer takes, what its clock
shows, settings that may break promises, what this user may not do. It changes nothing. What it could not look at is told, too.

A critical finding: a promise may be broken now, or locks do not work. A warning: locks work, but a fault that is to be expected would
break a promise, or cost much time. A note: nothing is wrong, but one should know. docs/doctor.md explains each of them.

Exit codes: 0 nothing above a note; 1 warnings; 2 critical findings; 64, 69 as for all commands: 69 if nothing could be examined, since the
engine cannot be reached, or its file cannot be used.`,
		Args:              words(0, "leasehold doctor [flags]"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.askingBy(cmd, engine.OpenToExamine, func(ctx context.Context, c *leasehold.Client) error {
				x, err := c.Examine(ctx)
				if err != nil && !errors.Is(err, leasehold.ErrUnsupported) {
					return err
				}
				if output.word == "json" {
					err = a.printJSON(newDiagnosis(x))
				} else {
					err = a.printDiagnosis(x, err != nil, a.screen(os.Getenv))
				}
				if err != nil {
					return err
				}
				return exit.Silent(verdicts[worst(x)])
			}, leasehold.WithDefaults(leasehold.TTL(time.Duration(ttl))), leasehold.WithMaxWaiters(maxWaiters))
		},
	}
	cmd.Flags().Var(&ttl, "ttl", "the ttl of your leases, beside which answers are slow or quick")
	cmd.Flags().IntVar(&maxWaiters, "max-waiters", maxWaiters, "how many may wait for a lock (`N`) by the limit of your programs, beside which queues are long or short")
	output.register(cmd)
	return cmd
}

// verdicts are the exit codes.
var verdicts = map[leasehold.Severity]int{leasehold.Warning: exit.Warned, leasehold.Critical: exit.Alarmed}

// worst is the severity of the worst finding, and 0 if there is none.
func worst(x leasehold.Examination) (s leasehold.Severity) {
	for _, f := range x.Findings {
		s = max(s, f.Severity)
	}
	return s
}

// The JSON form. Its field names are an interface.
type diagnosis struct {
	Places   []placeState   `json:"places"`
	Findings []findingState `json:"findings"`
}

type placeState struct {
	Place      string   `json:"place"`
	Role       string   `json:"role,omitempty"`
	Version    string   `json:"version,omitempty"`
	Votes      bool     `json:"votes"`
	Uptime     *int64   `json:"uptime_ms"`
	RoundTrip  *float64 `json:"round_trip_ms"`
	Ahead      *float64 `json:"ahead_ms"`
	Quarantine int64    `json:"quarantine_ms"`
	Error      string   `json:"error,omitempty"`
}

type findingState struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Place    string `json:"place,omitempty"`
	Text     string `json:"text"`
	Mend     string `json:"mend"`
}

func newDiagnosis(x leasehold.Examination) diagnosis {
	d := diagnosis{Places: []placeState{}, Findings: []findingState{}} // [] rather than null
	for _, p := range x.Places {
		s := placeState{Place: p.Name, Role: p.Role, Version: p.Version, Votes: p.Votes, Uptime: millis(p.Uptime), Quarantine: max(p.Closed.Milliseconds(), 0)}
		if p.RoundTrip >= 0 {
			s.RoundTrip = new(fineMillis(p.RoundTrip))
		}
		if p.HasClock {
			s.Ahead = new(fineMillis(p.Ahead))
		}
		if p.Err != nil {
			s.Error = p.Err.Error()
		}
		d.Places = append(d.Places, s)
	}
	for _, f := range x.Findings {
		d.Findings = append(d.Findings, findingState{f.Severity.String(), f.Code, f.Place, f.Text, f.Mend})
	}
	return d
}

// fineMillis is a duration in milliseconds, to the microsecond.
func fineMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
