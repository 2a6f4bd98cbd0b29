//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The files in testdata/script are sessions with the command. Those in "every" run on sqlite and a Redis server, and
// with make long on each engine that processes can share. Those in "redis" run on each engine that keeps locks in
// Redis, those in "servers" on the others that have servers. They can use:
//
//   - $LEASEHOLD_ENGINE, an engine that all scripts of its kind share, and $P, a prefix for the names of a script;
//     $DOWN, $WRONG, $NORIGHTS, $HALF and $CLOSED (see testServers), URLs of the same kind that do not work
//   - $TEST_BINARY, this program, which is another form of the command if LEASEHOLD_TEST_HELPER says so (helpers)
//   - "code N CMD...", which expects an exit code; "until REGEXP CMD...", which repeats a command until its output
//     matches; "tell WORD...", which sends a command to the servers, to all or to the one that the key belongs to
//   - conditions for what the engine supports, as in [shared] or [!semaphores]
//   - fifos for holding: a holder ends when somebody writes to its fifo
func TestScripts(t *testing.T) {
	t.Parallel()
	documented := readAbilities(t)
	for _, v := range engineSetups {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := v.open(t)
			can := ableOf(t, s.url)
			if v.name != "redisson, fair" { // what is documented is the default
				t.Run("abilities", func(t *testing.T) { documented.compare(t, can) })
			}
			t.Run("methods", func(t *testing.T) { checkOptionalMethods(t, s.url) })
			s.run(t, can, v.scripts...)
		})
	}
}

// run runs the scripts of some folders on an engine.
func (s *testServers) run(t *testing.T, can able, folders ...string) {
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join("testdata", "script", folder, "*.txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no scripts in %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	testBinary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("TEST_BINARY", testBinary)
			env.Setenv("LEASEHOLD_ENGINE", s.url)
			for name, value := range s.broken {
				env.Setenv(name, value)
			}
			env.Setenv("P", strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			has, known := map[string]bool{
				"shared": can.Shared, "semaphores": can.Semaphores, "votes": can.votes, "leaks": can.leaks,
				"records": can.records, "examine": can.examine, "waiters": can.Waiters, "queue": can.queue,
				"data": can.data,
			}[name]
			if !known {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return has, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "until": until,
			"tell": s.sendCommand},
	})
}

// code runs a command and expects an exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD [ARG...]")
	}
	got, err := "0", ts.Exec(args[1], args[2:]...)
	if err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Check(err)
		}
		got = fmt.Sprint(ended.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// until repeats a command, whatever its exit code, until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP CMD [ARG...]")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for look := newTicks(); ; {
		command := exec.Command(args[1], args[2:]...)
		command.Dir = ts.MkAbs(".")
		command.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "LEASEHOLD_ENGINE="+ts.Getenv("LEASEHOLD_ENGINE"),
			"GORACE=atexit_sleep_ms=0")
		if args[1] == "leasehold" {
			command.Path, command.Err = binary, nil
		}
		out, _ := command.CombinedOutput() // it may fail at first
		if want.Match(out) {
			return
		}
		if !look() {
			ts.Fatalf("no %s, at last:\n%s", args[0], out)
		}
	}
}

// sendCommand sends a command to the servers, and prints the last answer.
func (s *testServers) sendCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: tell WORD [WORD...]")
	}
	var reply any
	var err error
	for _, server := range s.servers {
		reply, err = server.Command(args...)
		if s.cluster && err == nil {
			break // the others say that the key belongs elsewhere
		}
		if !s.cluster {
			ts.Check(err)
		}
	}
	ts.Check(err)
	_, _ = fmt.Fprintln(ts.Stdout(), reply)
}
