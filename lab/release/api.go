package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/leasehold-go/leasehold/lab/release/apitext"
	"github.com/leasehold-go/leasehold/lab/release/publish"
)

// compareAPI compares what the public modules export with the files in the folder api, or writes these.
func compareAPI(write bool) error {
	modules, err := publish.Modules(".")
	if err != nil {
		return err
	}
	differ := false
	for _, m := range modules {
		if !m.Public() {
			continue
		}
		lines, err := apitext.Lines(m.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Dir, err)
		}
		if len(lines) == 0 {
			continue // a command
		}
		name := apiFile(m)
		text := strings.Join(lines, "\n") + "\n"
		if write {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		before, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("%w; make api writes it", err)
		}
		if string(before) != text {
			differ = true
			removed, added := apitext.Compare(strings.Split(strings.TrimSpace(string(before)), "\n"), lines)
			fmt.Fprintf(os.Stderr, "%s:\n", name)
			for _, line := range removed {
				fmt.Fprintln(os.Stderr, "  removed:", line)
			}
			for _, line := range added {
				fmt.Fprintln(os.Stderr, "  added:  ", line)
			}
		}
	}
	if differ {
		return fmt.Errorf("the exported API is not what the folder api says: " +
			"if that is meant, make api writes it, and the changelog says it. What is removed breaks programs")
	}
	return nil
}

func apiFile(m publish.Module) string {
	name := "leasehold"
	if m.Dir != "." {
		name = strings.ReplaceAll(m.Dir, "/", "-")
	}
	return path.Join("api", name+".txt")
}
