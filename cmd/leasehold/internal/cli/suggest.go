//go:build unix

package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// refuseArgs refuses an unknown command.
func refuseArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return exit.Errorf(exit.Usage, "%q is not a command%s: %s --help lists them", args[0],
		didYouMean(closest(args[0], names)), cmd.CommandPath())
}

// didYouMean returns a question to add to a message, or "" for "".
func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return " (did you mean " + word + "?)"
}

// closestFlag returns the flag of a command, with its dashes, that a misspelled name is likely to mean, or "".
func closestFlag(cmd *cobra.Command, typed string) string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if name := closest(typed, names); name != "" {
		return "--" + name
	}
	return ""
}

// closest returns the word that a misspelled one is likely to mean, or "".
func closest(typed string, words []string) (best string) {
	if len(typed) > 40 { // no word of ours is as long
		return ""
	}
	typed = strings.ToLower(typed)
	fewest := 2 + len(typed)/4 // more differences than in any word that is close
	for _, word := range words {
		if n := typingErrors(typed, word); n < fewest && n < len(word) {
			best, fewest = word, n
		}
	}
	return best
}

// typingErrors returns how many letters must be added, left out, replaced or swapped with their neighbour to make one
// word of the other.
func typingErrors(a, b string) int {
	// rows[i][j] is the number for the first i letters of a and the first j of b.
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
				continue
			}
			rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
			}
		}
	}
	return rows[len(a)][len(b)]
}
