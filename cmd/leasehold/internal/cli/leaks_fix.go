//go:build unix

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/exit"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// leak is the JSON form of a leak. Its field names are part of the interface.
type leak struct {
	Sort   string `json:"sort"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Count  int    `json:"count"`
	Token  uint64 `json:"token"`
	Server string `json:"server"`
	Holder string `json:"holder"`
	// Outcome is set with --fix only: removed, gone, or left if the removal was not attempted.
	Outcome string `json:"outcome,omitempty"`
}

func newLeaks(found []admin.Leak) []leak {
	list := make([]leak, 0, len(found)) // [], not null
	for _, l := range found {
		list = append(list, leak{Sort: l.Sort.String(), Kind: l.Kind.String(), Name: l.Name, Count: l.Count,
			Token: l.Token, Server: l.Server, Holder: l.Holder})
	}
	return list
}

// fixLeaks shows the leaks, asks, and removes them.
func (a *app) fixLeaks(ctx context.Context, c *admin.Client, found []admin.Leak, f leakFlags) error {
	for _, l := range found {
		a.say("%s", describeLeak(l))
	}
	what := "this"
	if len(found) > 1 {
		what = fmt.Sprintf("these %d", len(found))
	}
	if !f.yes && !a.confirm(ctx, "Remove "+what+"?") {
		return exit.Errorf(exit.No, "nothing was removed")
	}
	list := newLeaks(found)
	err := a.sweepLeaks(ctx, c, found, list, f.json)
	if f.json {
		return cmp.Or(err, a.printJSON(list))
	}
	return err
}

// sweepLeaks removes leaks until one fails: the rest would have to wait for an engine that does not answer.
func (a *app) sweepLeaks(
	ctx context.Context, c *admin.Client, found []admin.Leak, list []leak, quiet bool,
) error {
	for i := range list {
		list[i].Outcome = "left"
	}
	for i, l := range found {
		switch err := c.Sweep(ctx, l); {
		case errors.Is(err, leasehold.ErrLost):
			list[i].Outcome = "gone"
		case err != nil:
			return err
		default:
			list[i].Outcome = "removed"
		}
		if quiet {
			continue
		}
		said := list[i].Outcome
		if said == "gone" {
			said = "not there any more:"
		}
		if _, err := fmt.Fprintln(a.out, said, describeLeak(l)); err != nil {
			return err
		}
	}
	return nil
}

// describeLeak describes a leak on one line.
func describeLeak(l admin.Leak) string {
	text := fmt.Sprintf("%s of %s %s", l.Sort, l.Kind, quote.Name(l.Name))
	if l.Sort == admin.DeadWaiters && l.Count > 1 {
		text += fmt.Sprintf(" (%d)", l.Count)
	}
	if l.Holder != "" {
		text += ", held by " + quote.Text(l.Holder)
	}
	if l.Token != 0 {
		text += fmt.Sprintf(", token %d", l.Token)
	}
	if l.Server != "" {
		text += ", on " + quote.Text(l.Server)
	}
	return text
}
