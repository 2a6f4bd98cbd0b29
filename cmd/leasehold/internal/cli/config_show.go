//go:build unix

package cli

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/config"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
)

// setting is what counts for one key, and why. Its field names are part of the interface.
type setting struct {
	Setting string `json:"setting"`
	settingValue
	Hides []settingValue `json:"hides"` // what is set elsewhere, and does not count
}

type settingValue struct {
	Value string `json:"value"`
	From  string `json:"from"`
	Line  int    `json:"line,omitempty"`
}

func (a *app) showConfig() *cobra.Command {
	output := newOutput()
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show which settings count, and where they are set",
		Long: `Show which settings count, and where they are set.

There is a line for each key that a config file may have: its value, where it is set, and what that hides, which is
set elsewhere. The engine is set by --engine, ` + config.EngineVariable + `, the config file of the user or that of the
system; the first of these counts. The other keys are defaults of flags of leasehold run, and are set in the files.
Passwords are not shown.

Exit codes: 0 shown; 64 as for all commands; 78 a config file is wrong, or this user may not read it and nothing
else says which engine to use.`,
		Example:           `  leasehold config -o json | jq -r '.[] | select(.setting == "engine").from'`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			all, err := a.settings()
			if err != nil {
				return err
			}
			if output.value == "json" {
				return a.printJSON(all)
			}
			return a.printSettings(all)
		},
	}
	output.register(cmd)
	return cmd
}

// settings returns what is set for each key.
func (a *app) settings() ([]setting, error) {
	files, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	engines, err := config.Engines(a.engine, a.root.PersistentFlags().Changed("engine"), os.LookupEnv)
	if err != nil {
		return nil, configError(err)
	}
	if files.Unreadable != nil {
		a.say("%s", files.Unreadable)
	}
	_, defaults := newRunFlags()
	var all []setting
	for _, key := range config.Keys {
		values := engines
		if key.Flag != "" {
			preset := defaults.Lookup(key.Flag).Value.String()
			values = append(files.Values(key.Name), config.Value{Text: preset, Source: config.Default})
		}
		s := setting{Setting: key.Name, Hides: []settingValue{}} // [], not null
		for i, v := range values {
			shown := settingValue{v.Text, v.Source.Name, v.Source.Line}
			if key.Flag == "" && v.Text != "-" { // standard input is not read for this
				shown.Value, _ = engine.WithoutPassword(v.Text)
			}
			switch {
			case i == 0:
				s.settingValue = shown
			case v.Source != config.Default:
				s.Hides = append(s.Hides, shown)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func (a *app) printSettings(all []setting) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM\tHIDES")
	for _, s := range all {
		value := s.Value
		if value == "" {
			value = "-"
		}
		hides := []string{}
		for _, v := range s.Hides {
			hides = append(hides, v.Value+" ("+v.source()+")")
		}
		line := strings.Join([]string{s.Setting, oneLine(value), oneLine(s.source()),
			oneLine(strings.Join(hides, ", "))}, "\t")
		fmt.Fprintln(w, strings.TrimRight(line, "\t"))
	}
	return w.Flush()
}

func (v settingValue) source() string { return config.Source{Name: v.From, Line: v.Line}.String() }
