//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// book is what all pages have in common.
type book struct{ version, date string }

// commandPages returns the pages of a command and of those below it, by name.
func (b book) commandPages(c *cobra.Command) (map[string]string, error) {
	c.InitDefaultHelpFlag()
	c.InitDefaultHelpCmd()
	pages := map[string]string{}
	page, err := b.commandPage(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.CommandPath(), err)
	}
	pages[pageName(c)] = page
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		below, err := b.commandPages(sub)
		if err != nil {
			return nil, err
		}
		for name, page := range below {
			pages[name] = page
		}
	}
	return pages, nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func (b book) commandPage(c *cobra.Command) (string, error) {
	long, also, err := refer(c.Long)
	if err != nil {
		return "", err
	}
	var p strings.Builder
	fmt.Fprintf(&p, ".TH %s 1 %s \"leasehold %s\" leasehold\n.nh\n.ad l\n", strings.ToUpper(roff(pageName(c))), b.date,
		roff(b.version))
	fmt.Fprintf(&p, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(&p, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.HasAvailableSubCommands() {
		p.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&p, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if long == "" {
		long = c.Short + "."
	}
	p.WriteString(".SH DESCRIPTION\n" + paragraphs(long))
	writeFlags(&p, "OPTIONS", c.NonInheritedFlags())
	writeFlags(&p, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		p.WriteString(".SH EXAMPLES\n" + paragraphs(c.Example))
	}
	p.WriteString(".SH SEE ALSO\n" + seeAlso(c, also))
	return p.String(), nil
}

func writeFlags(p *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			term = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + term
		}
		if value != "" {
			term += ` \fI` + roff(value) + `\fR`
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(p, ".TP\n%s\n%s\n", term, roff(usage))
	})
}

// seeAlso lists the pages of the other commands and of topics.
func seeAlso(c *cobra.Command, pages []string) string {
	pages = append(pages, "leasehold-command")
	for _, t := range topics {
		if !c.HasParent() || t.page == pageName(c) {
			pages = append(pages, t.page)
		}
	}
	slices.Sort(pages)
	var all []string
	if c.HasParent() {
		all = append(all, `\fB`+roff(pageName(c.Parent()))+`\fR(1)`)
	}
	for _, page := range slices.Compact(pages) {
		all = append(all, `\fB`+roff(page)+`\fR(7)`)
	}
	return strings.Join(all, ",\n") + "\n"
}
