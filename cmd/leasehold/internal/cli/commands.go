//go:build unix

package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Commands returns the commands, for whoever describes them: they are not meant to be run.
func Commands() *cobra.Command { return (&app{out: io.Discard, err: io.Discard}).commands() }
