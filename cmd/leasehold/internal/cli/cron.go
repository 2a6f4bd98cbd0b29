//go:build unix

package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) cron() *cobra.Command {
	var check bool
	var listen string
	grace := period(30 * time.Second)
	cmd := &cobra.Command{
		Use:   "cron [flags] FILE",
		Short: "Run the jobs of a crontab, each tick on one of many machines",
		Long: `Run the jobs of a crontab. It is started with the same FILE on many machines, and one of them
runs each tick of each job: the others take over if that machine dies.

A line of FILE is: SCHEDULE NAME [FLAGS] COMMAND
  SCHEDULE  the five fields of crontab(5), or @hourly and the like, or @every 90s
  NAME      the name of the job, and of its lock
  FLAGS     those of leasehold run, as --flag=value: --catch-up, --skip-overlapped, --retry-failed,
            --ttl, --max-hold, --label and others; and --jitter=D, to begin up to D after the tick,
            which depends on NAME
  COMMAND   the rest of the line, for /bin/sh (or SHELL) -c; a % is a %

A line NAME=VALUE sets a variable for the jobs below. CRON_TZ=ZONE is the zone of their schedules (default UTC).
Each job runs as by leasehold run --schedule, with the same variables, one run at a time.

INT, TERM or HUP end it: it starts nothing any more, lets what runs go on for --grace, and then
ends it. What was cut short runs again on another machine.

Exit codes: 0 told to end, or --check and FILE is fine; 78 FILE is wrong.`,
		Example: `  leasehold cron --engine redis://10.0.0.1 /etc/leasehold/crontab
  leasehold cron --check /etc/leasehold/crontab`,
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := readCrontab(args[0])
			switch {
			case err != nil:
				return err
			case check:
				return a.printJobs(jobs, time.Now())
			case grace < 0:
				return exit.Errorf(exit.Usage, "--grace %s is not allowed: it must not be negative", grace.String())
			}
			return a.runJobs(cmd.Context(), args[0], jobs, listen, time.Duration(grace))
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	cmd.Flags().BoolVar(&check, "check", false, "check FILE, and show when each job runs next")
	cmd.Flags().StringVar(&listen, "listen", "",
		"serve metrics of the jobs to Prometheus on `HOST:PORT`; nobody is asked for a password there")
	cmd.Flags().Var(&grace, "grace", "how long commands may go on when this is told to end")
	return cmd
}
