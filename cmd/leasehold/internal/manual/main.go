//go:build unix

// Manual writes the manual pages of the command, and its completions for shells, into a folder. They are made from the
// commands themselves and from the documents in docs, for packages: the command does not link this program. Run it in
// the root of the project:
//
//	go run ./cmd/leasehold/internal/manual FOLDER VERSION SECONDS
//
// SECONDS since 1970 are the date in the pages: that of the commit, so that the same commit makes the same pages.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("the form is manual FOLDER VERSION SECONDS")
	}
	folder, version := args[0], args[1]
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("SECONDS: %w", err)
	}
	b := book{version: version, date: time.Unix(seconds, 0).UTC().Format("2006-01-02")}
	pages, err := b.commandPages(cli.Commands())
	if err != nil {
		return err
	}
	for name, page := range pages {
		if err := write(filepath.Join(folder, "man", "man1", name+".1"), page); err != nil {
			return err
		}
	}
	for _, t := range topics {
		text, err := os.ReadFile(t.document)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "man", "man7", t.page+".7"), b.topicPage(t, string(text))); err != nil {
			return err
		}
	}
	return writeCompletions(filepath.Join(folder, "completions"))
}

// write writes a file, and the folders above it.
func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func writeCompletions(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root := cli.Commands()
	for name, generate := range map[string]func(io.Writer) error{
		"leasehold.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_leasehold":     root.GenZshCompletion,
		"leasehold.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		file, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if err := generate(file); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
