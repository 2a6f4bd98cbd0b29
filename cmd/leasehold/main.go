//go:build unix

// Leasehold runs programs under a distributed lock, and shows and repairs what is locked. See docs/command.md.
package main

import (
	"os"
	"runtime"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/cli"
)

func init() {
	// The kernel kills the child when the thread that started it ends, not when the process ends. The main thread lives
	// as long as the process.
	runtime.LockOSThread()
}

func main() {
	keepMemoryPrivate() // before a password is read
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
