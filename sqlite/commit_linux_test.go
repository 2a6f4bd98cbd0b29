package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/driver"
)

func init() { roles["full disk"] = fullDiskRole }

// fullDiskRole takes a lock while no file may grow, so that COMMIT cannot be written, and again when files may grow.
func fullDiskRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	defer e.Close()
	if _, err := e.Take(context.Background(), lock("before")); err != nil {
		return err
	}
	info, err := os.Stat(args[0] + "-wal")
	if err != nil {
		return err
	}
	signal.Ignore(unix.SIGXFSZ)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	limit := unix.Rlimit{Cur: uint64(info.Size()), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	_, err = e.Take(context.Background(), lock("during"))
	fmt.Println(err != nil, driver.HadNoEffect(err), err)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	_, err = e.Take(context.Background(), lock("after"))
	return err
}

func TestFailedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	p := start(t, "full disk", path)
	var failed, noEffect bool
	line := p.line(t)
	if _, err := fmt.Sscan(line, &failed, &noEffect); err != nil {
		t.Fatal(err)
	}
	if !failed || noEffect {
		t.Errorf("a Take whose COMMIT failed answers %q, want an error whose outcome is unknown", line)
	}
	p.finish(t)
	checkIntegrity(t, path)
}
