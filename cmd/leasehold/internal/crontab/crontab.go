// Package crontab reads the jobs of leasehold cron.
package crontab

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/once"
)

// Job is one line of a file: a command that runs once per tick of a schedule.
type Job struct {
	Line    int // counts from 1
	Name    string
	Command string   // for the shell
	Env     []string // NAME=VALUE lines above it
	Options
}

// Options are what the flags of a job say.
type Options struct {
	Words int // how many words the flags are
	Ticks once.Schedule
	// Run are the flags of leasehold run.
	Run []string
	// CatchUp and RetryFailed are among them.
	CatchUp, RetryFailed bool
	// Jitter is the longest delay after a tick.
	Jitter time.Duration
}

// Shell returns the shell that the lines above set, or /bin/sh.
func (j Job) Shell() string {
	shell := "/bin/sh"
	for _, set := range j.Env {
		if value, ok := strings.CutPrefix(set, "SHELL="); ok {
			shell = value
		}
	}
	return shell
}

// Error says what is wrong with a line.
type Error struct {
	Line int
	Text string
	Err  error // the cause, or nil
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ReadOptions reads the flags at the beginning of words. when are the flags of leasehold run for the schedule that
// stands before them.
type ReadOptions func(name string, when, words []string) (Options, error)

var variable = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)$`)

// Form is the form of a line.
const Form = "SCHEDULE NAME [FLAGS] COMMAND, as in: 0 3 * * * nightly nightly-report --all"

// Parse reads a file. Its errors are of type *Error.
func Parse(text string, read ReadOptions) ([]Job, error) {
	var jobs []Job
	var env []string
	zone := "UTC"
	lines := map[string]int{} // of names
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		fail := func(err error, format string, args ...any) ([]Job, error) {
			return nil, &Error{i + 1, fmt.Sprintf(format, args...), err}
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if m := variable.FindStringSubmatch(line); m != nil {
			name, value := m[1], unquote(m[2])
			switch name {
			case "CRON_TZ":
				zone = value
			case "MAILTO", "MAILFROM", "RANDOM_DELAY", "START_HOURS_RANGE":
				return fail(nil, "%s is not supported: leave it out (what jobs print goes to standard output, and "+
					"for a delay there is --jitter)", name)
			default:
				env = append(env[:len(env):len(env)], name+"="+value)
			}
			continue
		}
		when, rest, err := cutSchedule(line, zone)
		if err != nil {
			return fail(err, "%v", err)
		}
		name, rest := cutWord(rest)
		if name == "" {
			return fail(nil, "NAME and COMMAND are missing: the form is %s", Form)
		}
		options, err := read(name, when, strings.Fields(rest))
		if err != nil {
			return fail(err, "%v", err)
		}
		for range options.Words {
			_, rest = cutWord(rest)
		}
		switch before, is := lines[name]; {
		case rest == "":
			return fail(nil, "COMMAND is missing behind NAME %q: the form is %s", name, Form)
		case is:
			return fail(nil, "the name %q is that of line %d: each job needs a name of its own", name, before)
		}
		lines[name] = i + 1
		jobs = append(jobs, Job{Line: i + 1, Name: name, Command: rest, Env: env, Options: options})
	}
	return jobs, nil
}

// cutSchedule cuts the schedule off a line, and returns it as flags of leasehold run.
func cutSchedule(line, zone string) (when []string, rest string, err error) {
	fields := 5
	if line[0] == '@' {
		fields = 1
	}
	word, rest := cutWord(line)
	if word == "@every" {
		period, rest := cutWord(rest)
		return []string{"--every=" + period}, rest, nil
	}
	schedule := []string{word}
	for range fields - 1 {
		word, rest = cutWord(rest)
		schedule = append(schedule, word)
	}
	if schedule[fields-1] == "" {
		return nil, "", fmt.Errorf("the schedule has fewer than five fields: the form is %s", Form)
	}
	return []string{"--schedule=" + strings.Join(schedule, " "), "--zone=" + zone}, rest, nil
}

// cutWord cuts the first word off a text.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeft(text[end:], " \t")
}

// unquote removes quotes around a value.
func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
