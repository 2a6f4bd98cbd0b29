// Release makes what a release of this project needs, and checks it. Nothing is published: docs/releasing.md says how
// a maintainer does that. Run it in the root of the project:
//
//	go run ./lab/release check [VERSION]     install the published form as a user would, from a temporary folder
//	go run ./lab/release commit VERSION      make the commit of a release, on a branch of its own
//	go run ./lab/release api [write]         compare the exported API with the folder api, or write it there
//	go run ./lab/release licences [FOLDER]   check the licences of what the command links, and write their texts
package main

import (
	"errors"
	"fmt"
	"os"
)

// usage is the error for arguments that make no sense.
var errUsage = errors.New("the form is: release check [VERSION] | commit VERSION | api [write] | licences [FOLDER]")

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		if errors.Is(err, errUsage) {
			os.Exit(64)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	words := append(args, "", "")
	switch task, word := words[0], words[1]; {
	case len(args) > 2:
		return errUsage
	case task == "check":
		if word == "" {
			word = "v0.1.0"
		}
		return check(word)
	case task == "commit" && word != "":
		return commit(word)
	case task == "api" && (word == "" || word == "write"):
		return compareAPI(word == "write")
	case task == "licences":
		return checkLicences(word)
	}
	return errUsage
}
