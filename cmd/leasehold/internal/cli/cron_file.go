//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cron"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/crontab"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/internal/ownpath"
	"github.com/leasehold-go/leasehold/once"
)

// readCrontab reads and checks a file.
func readCrontab(path string) ([]crontab.Job, error) {
	fail := func(err error) ([]crontab.Job, error) {
		return nil, exit.Errorf(exit.Config, "crontab %s: %w", path, err)
	}
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = ownpath.CheckToRead(absolute)
	}
	if fault, is := errors.AsType[*ownpath.Fault](err); is {
		return fail(fmt.Errorf("is not obeyed: %w, who could change what is run: %s", err, fault.Fix()))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(errors.New("no such file or directory"))
	case err != nil:
		return fail(withoutFile(err))
	}
	const maxSize = 1 << 20
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // opening a pipe would wait for a writer
	if err != nil {
		return fail(withoutFile(err))
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return fail(errors.New("is no regular file: give a file with lines " + crontab.Form))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return fail(withoutFile(err))
	}
	if len(text) > maxSize {
		return fail(errors.New("is larger than 1 MiB"))
	}
	jobs, err := crontab.Parse(string(text), readJobFlags)
	if err != nil {
		return fail(err)
	}
	if len(jobs) == 0 {
		return fail(errors.New("has no jobs: the form of a line is " + crontab.Form))
	}
	return jobs, nil
}

// withoutFile unwraps errors that repeat the path.
func withoutFile(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// cronFlags are flags of leasehold run that a line must not have: the schedule stands before, and others make no sense.
var cronFlags = []string{
	"help", "every", "schedule", "zone", "once", "nonblock", "wait", "skip-ok", "conflict-exit-code", "shared", "slots",
	"max-waiters", cron.ReportFlag,
}

// readJobFlags reads the flags of a line.
func readJobFlags(name string, when, words []string) (crontab.Options, error) {
	var o crontab.Options
	f := defaultRunFlags()
	var jitter period
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	set.SetInterspersed(false)
	f.given = set.Changed
	f.register(set)
	set.Var(&jitter, "jitter", "")
	set.Bool("help", false, "") // otherwise it would be a wish for help
	if err := set.Parse(words); err != nil {
		return o, err
	}
	o.Words = len(words) - set.NArg()
	for _, flag := range cronFlags {
		if set.Changed(flag) {
			return o, fmt.Errorf("--%s is not allowed here: leave it out", flag)
		}
	}
	for _, word := range when {
		flag, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if err := set.Set(flag, value); err != nil {
			return o, fmt.Errorf("the schedule: %w", err)
		}
	}
	if err := checkName(name); err != nil {
		return o, err
	}
	if err := f.check(); err != nil {
		return o, err
	}
	ticks, err := f.ticks()
	if err != nil {
		return o, err
	}
	if once.Latest(ticks, time.Now()).IsZero() {
		return o, fmt.Errorf("the schedule %q has had no tick in the last nine years: check it", f.schedule)
	}
	if jitter < 0 {
		return o, fmt.Errorf("--jitter %s is not allowed: it must not be negative", jitter.String())
	}
	o.Ticks, o.CatchUp, o.RetryFailed, o.Jitter = ticks, f.catchUp > 1, f.retryFailed, time.Duration(jitter)
	set.Visit(func(flag *pflag.Flag) {
		if flag.Name != "jitter" {
			o.Run = append(o.Run, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	return o, nil
}

// printJobs shows when jobs run next.
func (a *app) printJobs(jobs []crontab.Job, now time.Time) error {
	table := columns{out: a.out}
	table.addRow("NAME", "NEXT", "SCHEDULE", "COMMAND")
	for _, j := range jobs {
		next := "-"
		if at := j.Ticks.Next(now); !at.IsZero() {
			next = at.Format(time.RFC3339)
		}
		when := ""
		for _, flag := range j.Run {
			for _, of := range []string{"--schedule=", "--zone=", "--every="} {
				if value, is := strings.CutPrefix(flag, of); is && value != "UTC" {
					when = strings.TrimSpace(when + " " + value)
				}
			}
		}
		table.addRow(quote.Name(j.Name), next, when, quote.Cell(j.Command))
	}
	return table.flush()
}
