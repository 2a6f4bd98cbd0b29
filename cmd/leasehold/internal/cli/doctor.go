//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) doctor() *cobra.Command {
	output, ttl, maxWaiters := newOutput(), period(leasehold.DefaultTTL), admin.DefaultMaxWaiters
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Find what endangers locks, and say what to do about it",
		Long: `Find what endangers locks, and say what to do about it.

It asks each server on which the engine keeps locks for its version, role, uptime, response time, clock, settings
that may break promises, and for what this user may not do. It changes nothing. It also reports what it could not
check.

A critical finding: a promise may be broken now, or locks do not work. A warning: locks work, but a fault that
is to be expected would break a promise, or cost much time. A note: nothing is wrong, but you should know.

Exit codes: 0 nothing above a note; 1 warnings; 2 critical findings; 64, 69 as for all commands: 69 if nothing
could be examined, since the engine cannot be reached or its file cannot be used.`,
		Example: `  leasehold doctor
  leasehold doctor --ttl 5s -o json | jq '.findings[].text'`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAdminBy(cmd, engine.OpenToExamine, func(ctx context.Context, c *admin.Client) error {
				x, err := c.Examine(ctx)
				if err != nil && !errors.Is(err, leasehold.ErrUnsupported) {
					return err
				}
				x.Findings = append(x.Findings, a.findReadableSecrets()...)
				if output.value == "json" {
					err = a.printJSON(newDiagnosis(x))
				} else {
					err = a.printDiagnosis(x, err != nil, a.screen(os.Getenv))
				}
				if err != nil {
					return err
				}
				return exit.Silent(severityExitCodes[worstSeverity(x)])
			}, admin.WithTTL(time.Duration(ttl)), admin.WithMaxWaiters(maxWaiters))
		},
	}
	cmd.Flags().Var(&ttl, "ttl", "the ttl of your leases, by which answers count as slow or quick")
	cmd.Flags().IntVar(&maxWaiters, "max-waiters", maxWaiters,
		"the limit `N` of waiters that your programs set, by which queues count as long or short")
	output.register(cmd)
	return cmd
}

// severityExitCodes are the exit codes by the worst finding.
var severityExitCodes = map[admin.Severity]int{admin.Warning: exit.Warned, admin.Critical: exit.Alarmed}

// worstSeverity returns the severity of the worst finding, or 0 if there is none.
func worstSeverity(x admin.Examination) (s admin.Severity) {
	for _, f := range x.Findings {
		s = max(s, f.Severity)
	}
	return s
}

// The JSON form. Its field names are part of the interface.
type diagnosis struct {
	Servers  []serverState  `json:"servers"`
	Findings []findingState `json:"findings"`
}

type serverState struct {
	Server     string   `json:"server"`
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
	Server   string `json:"server,omitempty"`
	Text     string `json:"text"`
	Fix      string `json:"fix"`
}

func newDiagnosis(x admin.Examination) diagnosis {
	d := diagnosis{Servers: []serverState{}, Findings: []findingState{}} // [], not null
	for _, p := range x.Servers {
		s := serverState{Server: p.Name, Role: p.Role, Version: p.Version, Votes: p.Votes, Uptime: millis(p.Uptime),
			Quarantine: max(p.Closed.Milliseconds(), 0)}
		if p.RoundTrip >= 0 {
			s.RoundTrip = new(fineMillis(p.RoundTrip))
		}
		if p.HasClock {
			s.Ahead = new(fineMillis(p.Ahead))
		}
		if p.Err != nil {
			s.Error = p.Err.Error()
		}
		d.Servers = append(d.Servers, s)
	}
	for _, f := range x.Findings {
		d.Findings = append(d.Findings, findingState{f.Severity.String(), f.Code, f.Server, f.Text, f.Fix})
	}
	return d
}

// fineMillis returns a duration in milliseconds, with microseconds as decimals.
func fineMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
