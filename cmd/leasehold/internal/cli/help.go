//go:build unix

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

func (a *app) help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [flags] [COMMAND]",
		Short: "Show what a command does, and its flags",
		Long:  `Show what a command does, and its flags. leasehold COMMAND --help shows the same.`,
		Example: `  leasehold help
  leasehold help run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return unexpected(cmd, args[1])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []string
			for _, c := range a.root.Commands() {
				if c.IsAvailableCommand() {
					all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := a.root.Find(args)
			if err != nil || len(rest) > 0 {
				return refuseArgs(a.root, args)
			}
			return a.printHelp(about)
		},
	}
}

// printHelp prints the help of a command.
func (a *app) printHelp(cmd *cobra.Command) error {
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	_, err := fmt.Fprintf(a.out, "%s\n\n%s", strings.TrimSpace(about), usage(cmd))
	return withExitCode(err)
}

// usage returns the form of a command, its examples, and its flags.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n\n", title, text)
		}
	}
	section("Usage", "  "+cmd.UseLine())
	section("Examples", cmd.Example)
	var commands strings.Builder
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&commands, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	section("Commands", commands.String())
	section("Flags", cmd.LocalNonPersistentFlags().FlagUsages())
	section("Flags of all commands", cmd.Root().PersistentFlags().FlagUsages())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "%s COMMAND --help explains a command.\n\n", cmd.CommandPath())
	}
	page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, "More: man %s, where leasehold was installed as a package, or %s in its source.\n", page,
		documentOf(cmd.Name()))
	return b.String()
}

// documentOf returns the document that says more about a command.
func documentOf(command string) string {
	switch command {
	case "cron", "demo", "doctor", "exporter", "top":
		return "docs/" + command + ".md"
	}
	return "docs/command.md"
}

// unexpected refuses an argument.
func unexpected(cmd *cobra.Command, word string) error {
	return exit.Errorf(exit.Usage, "%q is not expected here: the form is %s", word, cmd.UseLine())
}
