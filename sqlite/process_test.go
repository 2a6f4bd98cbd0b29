package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// roles are what the test binary can do in a process of its own.
var roles = map[string]func(args []string) error{
	"copy":  copyRole,
	"try":   tryRole,
	"count": countRole,
	"hold":  holdRole,
	"wait":  waitRole,
	"work":  workRole,
}

// copyRole copies a file, if it exists.
func copyRole(args []string) error {
	content, err := os.ReadFile(args[0])
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], content, 0o600)
}

// tryRole prints whether a name is held.
func tryRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	defer e.Close()
	switch _, err := e.Take(context.Background(), lock(args[1])); {
	case err == nil:
		fmt.Println("free")
	case errors.Is(err, driver.ErrHeld):
		fmt.Println("held")
	default:
		return err
	}
	return nil
}

// acquire takes a lock, and waits for it if necessary.
func acquire(ctx context.Context, e *Engine, r driver.Request) (driver.Grant, error) {
	r.Join = true
	g, err := e.Take(ctx, r)
	if errors.Is(err, driver.ErrHeld) {
		g, err = e.Wait(ctx, r)
	}
	return g, err
}

// readNumber reads the number at an offset of a file, without any lock.
func readNumber(f *os.File, offset int64) (int64, error) {
	var b [8]byte
	if _, err := f.ReadAt(b[:], offset); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

func writeNumber(f *os.File, offset, n int64) error {
	_, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(n)), offset)
	return err
}

// countRole prints "ready", waits for its input to end, and then increments the number in a file the given number of
// times, each time under the lock.
func countRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	defer e.Close()
	f, err := os.OpenFile(args[1], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	times, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	for range times {
		r := lock("counter")
		g, err := acquire(context.Background(), e, r)
		if err != nil {
			return err
		}
		n, err := readNumber(f, 0)
		if err != nil {
			return err
		}
		if err := writeNumber(f, 0, n+1); err != nil {
			return err
		}
		h := hold(r)
		h.Token = g.Token
		if err := e.Release(context.Background(), driver.Release{Hold: h}); err != nil {
			return err
		}
	}
	return nil
}

// runProcesses has processes increment under one lock, and returns how long they took.
func runProcesses(t testing.TB, processes, times int) time.Duration {
	t.Helper()
	path, counter := newPath(t), filepath.Join(t.TempDir(), "counter")
	if err := os.WriteFile(counter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all []*process
	var inputs []io.Closer
	for range processes {
		p, input := startWithInput(t, "count", path, counter, strconv.Itoa(times))
		all, inputs = append(all, p), append(inputs, input)
	}
	for _, p := range all {
		p.line(t)
	}
	began := time.Now()
	for _, input := range inputs {
		_ = input.Close()
	}
	for _, p := range all {
		p.finish(t)
	}
	took := time.Since(began)
	f, err := os.Open(counter)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := readNumber(f, 0); err != nil || n != int64(processes*times) {
		t.Errorf("the counter is at %d (%v), want %d", n, err, processes*times)
	}
	checkIntegrity(t, path)
	return took
}

func TestEightProcessesOnOneName(t *testing.T) {
	t.Parallel()
	runProcesses(t, 8, 50)
}
