package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/leasehold-go/leasehold/lab/release/licences"
	"github.com/leasehold-go/leasehold/lab/release/publish"
)

// systems are what the command is released for: those of .goreleaser.yaml.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// checkLicences checks what the command links, and writes the texts into a folder if one is given.
func checkLicences(folder string) error {
	texts, err := licences.Find("./cmd/leasehold", publish.Home, systems)
	if err != nil {
		return err
	}
	wrong := 0
	for _, t := range texts {
		if why := licences.Check(t); why != "" {
			fmt.Fprintln(os.Stderr, why)
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("the licences of %d files are not allowed", wrong)
	}
	if folder == "" {
		fmt.Printf("the licences of all linked modules are allowed: %d texts\n", len(texts))
		return nil
	}
	name := filepath.Join(folder, "THIRD-PARTY-LICENSES")
	return os.WriteFile(name, []byte(licences.Write(texts)), 0o644)
}
