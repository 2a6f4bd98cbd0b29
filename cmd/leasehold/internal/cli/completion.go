//go:build unix

package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/engine"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// shells are those for which there is a script.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completion() *cobra.Command {
	plain := false
	cmd := &cobra.Command{
		Use:   "completion [flags] SHELL",
		Short: "Print a script that lets a shell complete commands, flags and names",
		Long: `Print a script that lets a shell complete commands, flags, their values, and names that are held or
waited for. SHELL is ` + strings.Join(shells, ", ") + `.

Completing a name asks the engine, with the engine URL of the command line that is typed.`,
		Example: `  source <(leasehold completion bash)
  leasehold completion zsh >"${fpath[1]}/_leasehold"
  leasehold completion fish >~/.config/fish/completions/leasehold.fish`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return exit.Errorf(exit.Usage, "SHELL is missing: the form is %s", cmd.UseLine())
			case len(args) > 1:
				return unexpected(cmd, args[1])
			case !slices.Contains(shells, args[0]):
				return exit.Errorf(exit.Usage, "SHELL %q is not allowed: it must be %s", args[0],
					strings.Join(shells, " or "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return shells, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.printCompletion(args[0], !plain) },
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "offer words alone, without what they mean")
	return cmd
}

func (a *app) printCompletion(shell string, describe bool) (err error) {
	switch {
	case shell == "bash":
		err = a.root.GenBashCompletionV2(a.out, describe)
	case shell == "zsh" && describe:
		err = a.root.GenZshCompletion(a.out)
	case shell == "zsh":
		err = a.root.GenZshCompletionNoDesc(a.out)
	case shell == "fish":
		err = a.root.GenFishCompletion(a.out, describe)
	case describe:
		err = a.root.GenPowerShellCompletionWithDesc(a.out)
	default:
		err = a.root.GenPowerShellCompletion(a.out)
	}
	return withExitCode(err)
}

// muteCompletion discards what cobra writes about its own completion of words: it would quote words in which there may
// be a password, on standard error and in the file that this variable names.
func muteCompletion() {
	_ = os.Unsetenv("BASH_COMP_DEBUG_FILE")
	os.Stderr, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0) // if that fails, writing to it fails, too
}

// completeNames completes NAME with the names that are held or waited for.
func (a *app) completeNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	err := a.withAdmin(cmd, func(ctx context.Context, c *admin.Client) error {
		page, err := c.List(ctx, admin.Query{Prefix: typed})
		for _, s := range page {
			// To a shell, a newline ends a completion and a tab begins its description; and it shows the text on the
			// terminal.
			if oneLine(s.Name) == s.Name {
				found = append(found, s.Name)
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	slices.Sort(found) // one name may be of several kinds
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags completes the values of a command's flags: choices with their words, the engine with the beginnings of
// URLs, files with files, and nothing else.
func completeFlags(cmd *cobra.Command) {
	complete := func(f *pflag.Flag) {
		var words []cobra.Completion
		directive := cobra.ShellCompDirectiveNoFileComp
		if c, is := f.Value.(interface{ words() []string }); is {
			words = c.words()
		}
		switch f.Name {
		case "engine":
			words, directive = engine.Schemes(), directive|cobra.ShellCompDirectiveNoSpace
		case "svg":
			directive = cobra.ShellCompDirectiveDefault
		}
		// It fails only for a flag that is not there, or was registered before.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, directive))
	}
	cmd.LocalFlags().VisitAll(complete)
}
