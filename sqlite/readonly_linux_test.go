package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/driver"
)

func init() { roles["list as nobody"] = listAsNobody }

// listAsNobody lists a file again and again, until its input ends.
func listAsNobody(args []string) error {
	runtime.LockOSThread() // the user id for file access belongs to a thread
	if err := unix.Setfsuid(nobody); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // blocks
		close(over)
	}()
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	defer e.Close()
	e.busyLimit = 5 * time.Minute // however slow the machine is
	for lists := 0; ; lists++ {
		page, err := e.List(context.Background(), driver.Query{Name: "held"})
		if err != nil || len(page) != 1 || len(page[0].Holders) != 1 {
			return fmt.Errorf("the listing is %+v, %w", page, err)
		}
		if lists == 0 {
			fmt.Println("looking")
		}
		select {
		case <-over:
			fmt.Println("over")
			return nil
		default:
		}
	}
}

// A user who may only read the file sees its state at one moment, while other processes open and close it.
func TestReadOnlyUserSeesOneMoment(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "locks.db")
	use := func(name string) {
		t.Helper()
		e, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		r := lock(name)
		r.TTL = time.Hour
		mustTake(t, e, r)
	}
	use("held")
	for _, at := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	p, input := startWithInput(t, "list as nobody", path)
	if line := p.line(t); line != "looking" {
		t.Fatal(line)
	}
	for i := range 12 {
		use(fmt.Sprint("more ", i))
	}
	_ = input.Close()
	p.finish(t)
}
