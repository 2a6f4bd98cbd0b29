//go:build unix

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/terminal"
)

const releaseForm = "leasehold release --force [flags] NAME"

// releaseFlags are the flags of release.
type releaseFlags struct {
	force, yes bool
	token      uint64
	kind       choice
}

func (a *app) releaseByForce() *cobra.Command {
	f := releaseFlags{kind: choice{allowed: []string{"lock", "semaphore"}}}
	cmd := &cobra.Command{
		Use:   "release --force NAME",
		Short: "Take a lock away from whoever holds it",
		Long: `Take a lock away from whoever holds it.

The holder finds out with its next renewal, a third of its ttl later at most. Until then it
works on, while others may have the lock: only the fencing token tells the two apart. Without
--token, everybody who holds the name loses it.

Exit codes: 0 released; 1 nothing was released: the name is free, nobody holds it with that
token, or the answer was no; 64, 69 as for all commands.`,
		Args:              words(1, releaseForm),
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.force:
				return exit.Errorf(exit.Usage, "release takes the lock %q away from its holder, who may be at work: say --force if you mean it", args[0])
			case !f.yes && !terminal.IsTerminal(a.in):
				return exit.Errorf(exit.Usage, "release asks before it acts, and standard input is no terminal: say --yes")
			}
			return a.asking(cmd, func(ctx context.Context, c *leasehold.Client) error {
				return a.takeAway(ctx, c, args[0], f, cmd.Flags().Changed("token"))
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.force, "force", false, "required: the holder is not asked")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.Uint64Var(&f.token, "token", 0, "only the holder with token `N`")
	flags.Var(&f.kind, "kind", "only this kind")
	return cmd
}

// takeAway shows the holders, asks, and takes the lock away from them.
func (a *app) takeAway(ctx context.Context, c *leasehold.Client, name string, f releaseFlags, oneToken bool) error {
	found, err := look(ctx, c, name, f.kind)
	if err != nil {
		return err
	}
	type target struct {
		kind  leasehold.Kind
		token uint64
	}
	var targets []target
	for _, s := range found {
		for _, h := range s.Holders {
			if oneToken && h.Token != f.token {
				continue
			}
			a.say("%s %q is held by %s, token %d, %s left", s.Kind, name, h.Holder, h.Token, ttl(h.TTL))
			targets = append(targets, target{s.Kind, h.Token})
		}
	}
	switch {
	case len(targets) == 0 && oneToken:
		return exit.Errorf(exit.No, "nothing to release: nobody holds %q with token %d", name, f.token)
	case len(targets) == 0:
		return exit.Errorf(exit.No, "nothing to release: %q is free", name)
	}
	if !f.yes && !a.agreed(ctx, len(targets)) {
		return exit.Errorf(exit.No, "nothing was released")
	}
	for _, t := range targets {
		err := c.ForceRelease(ctx, t.kind, name, t.token)
		switch {
		case errors.Is(err, leasehold.ErrLost):
			a.say("the holder with token %d was gone already", t.token)
		case err != nil:
			return err
		default:
			_, _ = fmt.Fprintf(a.out, "released %s %s token %d\n", t.kind, oneLine(name), t.token)
		}
	}
	return nil
}

// agreed asks on the terminal. Only yes means yes.
func (a *app) agreed(ctx context.Context, holders int) bool {
	whom := "this holder"
	if holders > 1 {
		whom = fmt.Sprintf("these %d holders", holders)
	}
	_, _ = fmt.Fprintf(a.err, "Take it away from %s? [y/N] ", whom)
	answer := make(chan string, 1)
	go func() { // ends with the process: reading a terminal cannot be called off
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false
	case said := <-answer:
		return said == "y" || said == "yes"
	}
}
