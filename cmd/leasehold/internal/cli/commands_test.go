//go:build unix

package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// allCommands are all commands, with the root, as a run of the command makes them.
func allCommands() []*cobra.Command {
	root := (&app{out: io.Discard, err: io.Discard}).commands()
	root.InitDefaultHelpCmd()
	return append(root.Commands(), root)
}

// usageForm is the form of all commands: flags that are required, [flags], and arguments in capitals.
var usageForm = regexp.MustCompile(`^leasehold( [a-z]+)?( --force)? \[flags\]` +
	`( \[?[A-Z]+(\.\.\.)?\]?( --)?| \[ARG\.\.\.\])*$`)

// placeholder is what stands for the value of a flag.
var placeholder = regexp.MustCompile(`^([A-Z]+([:/][A-Z]+)?|[a-z]+(\|[a-z]+)+)$`)

// jargon are words of the code and of Go that mean nothing to somebody who uses the command.
var jargon = regexp.MustCompile(`(?i)\b(u?int(64)?|string|bool|float|slice|struct|regexp?|goroutine|context|` +
	`mutex|strconv|pflag|cobra|nil|null|driver|backend|daemon)\b`)

func TestEachCommandIsExplainedAlike(t *testing.T) {
	t.Parallel()
	for _, cmd := range allCommands() {
		name := cmd.Name()
		if !usageForm.MatchString(cmd.UseLine()) {
			t.Errorf("%s: the form is %q", name, cmd.UseLine())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short text is %q", name, cmd.Short)
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", name)
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "leasehold") {
				t.Errorf("%s: an example is %q", name, line)
			}
		}
		help := usage(cmd)
		for _, want := range []string{"Usage:\n  " + cmd.UseLine() + "\n", "\nExamples:\n" + cmd.Example,
			"--engine URL", "-h, --help", "\nMore: man leasehold"} {
			if !strings.Contains(help, want) {
				t.Errorf("the help of %s does not say %q:\n%s", name, want, help)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			shown, text := pflag.UnquoteUsage(f)
			if found := jargon.FindString(text); found != "" || text == "" || strings.HasSuffix(text, ".") {
				t.Errorf("%s --%s says %q (%s)", name, f.Name, text, found)
			}
			if f.Value.Type() != "bool" && !placeholder.MatchString(shown) {
				t.Errorf("%s --%s has a value that is called %q", name, f.Name, shown)
			}
		})
	}
}

// A shell offers the words of each flag that has a choice, and no files for any flag but those that name one.
func TestEachFlagIsCompleted(t *testing.T) {
	t.Parallel()
	choices := 0
	for _, cmd := range allCommands() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				return
			}
			words := complete(t, strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "leasehold")), "--"+f.Name)
			var want []string
			if strings.Contains(f.Value.Type(), "|") {
				choices++
				want = strings.Split(f.Value.Type(), "|")
			}
			directive := ":4"
			switch f.Name {
			case "svg":
				directive = ":0"
			case "engine":
				if len(words) < 10 || words[len(words)-1] != ":6" {
					t.Errorf("--engine: %q", words)
				}
				return
			}
			if got := strings.Join(words, " "); got != strings.TrimSpace(strings.Join(append(want, directive), " ")) {
				t.Errorf("%s --%s: %q", cmd.Name(), f.Name, got)
			}
		})
	}
	if choices < 10 {
		t.Errorf("only %d flags have a choice", choices)
	}
}

// complete returns what a shell is offered for the value of a flag.
func complete(t *testing.T, command, flag string) []string {
	t.Helper()
	var out bytes.Buffer
	a := &app{out: &out, err: io.Discard}
	root := a.commands()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	words := append([]string{cobra.ShellCompRequestCmd}, strings.Fields(command)...)
	root.SetArgs(append(words, flag, ""))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(out.String())
}

func TestUnknownFlagsAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, cmd := range allCommands() {
		for _, flag := range []string{"--nosuch", "--hlep", "-Q", "--=x"} {
			root := (&app{in: os.Stdin, out: io.Discard, err: io.Discard}).commands()
			root.SetArgs(append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), "leasehold")), flag))
			err := root.Execute()
			coded, is := errors.AsType[*exit.Error](err)
			if !is || coded.Code != exit.Usage || !strings.Contains(err.Error(), cmd.CommandPath()+" --help") {
				t.Errorf("%s %s: %v", cmd.CommandPath(), flag, err)
			} else if flag == "--hlep" && !strings.Contains(err.Error(), "did you mean --help?") {
				t.Errorf("%s %s: %v", cmd.CommandPath(), flag, err)
			}
		}
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	words := []string{"run", "ls", "inspect", "watch", "wait", "release", "audit", "runs", "max-waiters"}
	for typed, want := range map[string]string{
		"rnu": "run", "rn": "run", "Run": "run", "runn": "run", "lss": "ls", "sl": "ls", "inspct": "inspect",
		"wathc": "watch", "relaese": "release", "adit": "audit", "max-waiter": "max-waiters",
		"maxwaiters": "max-waiters",
		"":           "", "x": "", "lock": "", "unlock": "", "mysql://h": "", strings.Repeat("run", 1000): "",
	} {
		if got := closest(typed, words); got != want {
			t.Errorf("%.20q is close to %q, want %q", typed, got, want)
		}
	}
}
