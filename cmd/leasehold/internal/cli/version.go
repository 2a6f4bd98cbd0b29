//go:build unix

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build describes what this program was built from. Its field names are part of the interface.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) version() *cobra.Command {
	output := newOutput()
	cmd := &cobra.Command{
		Use:               "version [flags]",
		Short:             "Print the version",
		Example:           `  leasehold version -o json | jq -r .version`,
		Args:              exactArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return a.printVersion(output.value)
		},
	}
	output.register(cmd)
	return cmd
}

// printVersion prints the version as a table, which is one line, or as JSON.
func (a *app) printVersion(form string) error {
	b := readBuild()
	if form == "json" {
		return withExitCode(a.printJSON(b))
	}
	text := "leasehold " + b.Version
	if b.Revision != "" {
		text += " " + b.Revision
	}
	if b.Modified {
		text += " (modified)"
	}
	_, err := fmt.Fprintf(a.out, "%s %s %s\n", text, b.Go, b.Platform)
	return withExitCode(err)
}

func readBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.readRelease()
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	b.readRelease()
	return b
}
