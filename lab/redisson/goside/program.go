package goside

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// variable, if not empty, turns the binary of a test into the program.
const variable = "LEASEHOLD_REDISSON_GO_SIDE"

// Main serves calls if [Start] has started this process, and does not return then. TestMain calls it first.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	if err := newSession(os.Stdout).serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0) // whoever has called has ended; nothing is released, as after a crash
}

// Start starts the program. It is killed at the end of the test.
func Start(t needed.TB) *javaside.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("%v", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"=1")
	return javaside.StartCommand(t, "goside: Go", cmd)
}
