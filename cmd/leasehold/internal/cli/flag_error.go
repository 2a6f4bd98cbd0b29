//go:build unix

package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
)

// flagError returns an error for flags that cannot be parsed.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return refuseArgs(cmd, words) // the flag belongs to a command that there is not
	}
	return exit.Errorf(exit.Usage, "%w; see %s --help", describeFlagError(cmd, err), cmd.CommandPath())
}

var plainFlag = regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`)

// describeFlagError says what is wrong. What is glued to a letter, or precedes an equals sign, may be part of a
// password, and is left out.
func describeFlagError(cmd *cobra.Command, err error) error {
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		return describeUnknownFlag(cmd, unknown)
	}
	if missing, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		f := missing.GetFlag()
		placeholder, _ := pflag.UnquoteUsage(f)
		return fmt.Errorf("a value is missing behind --%s: the form is --%s %s", f.Name, f.Name, placeholder)
	}
	if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is {
		f := wrong.GetFlag()
		hint := ""
		if long := cmd.Flags().Lookup(f.Shorthand + wrong.GetValue()); f.Shorthand != "" && long != nil {
			hint = didYouMean("--" + long.Name)
		}
		return fmt.Errorf("--%s %q is not allowed: it must be %s%s", f.Name, wrong.GetValue(), allowedIn(f, wrong),
			hint)
	}
	return errors.New("a flag that is not known")
}

func describeUnknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	name, letters := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	switch {
	case letters != "" && cmd.Flags().Lookup(letters) != nil:
		return fmt.Errorf("unknown flag -%s%s", letters, didYouMean("--"+letters))
	case letters != "":
		return errors.New("unknown flag -" + name)
	case !plainFlag.MatchString(name):
		return errors.New("a flag that is not known")
	}
	return fmt.Errorf("unknown flag --%s%s", name, didYouMean(closestFlag(cmd, name)))
}

// allowedIn says what a flag's value must be.
func allowedIn(f *pflag.Flag, wrong *pflag.InvalidValueError) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false, or left out"
	case "int":
		return "a whole number (below 2^63)"
	case "uint64":
		return "a whole number of 0 or more (below 2^64)"
	}
	return strings.TrimPrefix(wrong.Unwrap().Error(), mustBe) // our own flag types all say what they allow
}

// mustBe begins the errors of our own flag types.
const mustBe = "it must be "

// refuseLateFlag refuses a flag of run that comes after NAME, where CMD is expected.
func refuseLateFlag(cmd *cobra.Command, name, word string) error {
	long, isLong := strings.CutPrefix(word, "--")
	long, _, _ = strings.Cut(long, "=")
	flag := ""
	switch {
	case len(word) < 2 || word[0] != '-':
	case !isLong && cmd.Flags().ShorthandLookup(word[1:2]) != nil:
		flag = "-" + word[1:2]
	case isLong && cmd.Flag(long) != nil:
		flag = "--" + long
	case isLong && plainFlag.MatchString(long):
		flag = closestFlag(cmd, long)
	}
	if flag == "" {
		return nil
	}
	return exit.Errorf(exit.Usage,
		"%s comes after NAME %q, where CMD is expected: put flags before NAME, as in %s (if CMD really begins with a "+
			"dash, put -- before CMD)", flag, name, cmd.UseLine())
}
