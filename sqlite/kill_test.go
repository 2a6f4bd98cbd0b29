package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// holdRole takes a name with the given ttl, and sleeps.
func holdRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	r := lock(args[1])
	if r.TTL, err = time.ParseDuration(args[2]); err != nil {
		return err
	}
	if _, err := e.Take(context.Background(), r); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}

// waitRole waits for a name.
func waitRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	r := lock(args[1])
	r.Join = true
	if _, err := e.Take(context.Background(), r); !errors.Is(err, driver.ErrHeld) {
		return fmt.Errorf("Take: %w", err)
	}
	fmt.Println("waits")
	_, err = e.Wait(context.Background(), r)
	return err
}

func TestKilledHolder(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	const ttl = 2 * time.Second
	p := start(t, "hold", path, "a", ttl.String())
	p.line(t)
	began := time.Now()
	p.kill()
	if _, err := acquire(t.Context(), openFile(t, path), lock("a")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > ttl+3*time.Second {
		t.Errorf("the next had to wait for %v, want at most %v", took, ttl+3*time.Second)
	}
}

func TestKilledWaiter(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	e := openFile(t, path)
	holder := lock("a")
	mustTake(t, e, holder)
	p := start(t, "wait", path, "a")
	p.line(t)
	next := lock("a")
	next.Join = true
	if _, err := e.Take(t.Context(), next); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	p.kill()
	began := time.Now()
	mustRelease(t, e, holder)
	if _, err := e.Wait(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > waiterTTL+3*time.Second {
		t.Errorf("the next had to wait for %v, want at most %v", took, waiterTTL+3*time.Second)
	}
}

// workRole takes and releases names for ever, and checks each time that it is alone and that its token is larger than
// the last. The file has, for each name, the last token and who is inside.
func workRole(args []string) error {
	e, err := Open(args[0])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[1], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if err := work(e, f, rand.Int64N(workNames)); err != nil {
			return err
		}
	}
}

const (
	workNames = 4
	workTTL   = 1500 * time.Millisecond
)

func work(e *Engine, f *os.File, name int64) error {
	r := lock("work-" + strconv.FormatInt(name, 10))
	r.TTL = workTTL
	g, err := acquire(context.Background(), e, r)
	if err != nil {
		return err
	}
	lastAt, insideAt, roundsAt := 24*name, 24*name+8, 24*name+16
	last, err := readNumber(f, lastAt)
	if err != nil {
		return err
	}
	if int64(g.Token) <= last {
		return fmt.Errorf("token %d after %d", g.Token, last)
	}
	err = errors.Join(writeNumber(f, lastAt, int64(g.Token)), writeNumber(f, insideAt, int64(g.Token)))
	if err != nil {
		return err
	}
	rounds, err := readNumber(f, roundsAt)
	if err != nil {
		return err
	}
	if err := writeNumber(f, roundsAt, rounds+1); err != nil {
		return err
	}
	inside, err := readNumber(f, insideAt)
	if err != nil {
		return err
	}
	if inside != int64(g.Token) && driver.Now().Since(g.Start) < r.TTL {
		return fmt.Errorf("token %d is inside while %d holds", inside, g.Token)
	}
	h := hold(r)
	h.Token = g.Token
	err = e.Release(context.Background(), driver.Release{Hold: h})
	if errors.Is(err, driver.ErrNotHeld) && driver.Now().Since(g.Start) >= r.TTL {
		err = nil // the machine was too busy
	}
	return err
}

// TestKilledAtAnyMoment kills processes while they change the file.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	path, board := newPath(t), filepath.Join(t.TempDir(), "board")
	if err := os.WriteFile(board, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const processes, kills = 4, 24
	var all []*process
	add := func() {
		p := start(t, "work", path, board)
		p.line(t)
		all = append(all, p)
	}
	for range processes {
		add()
	}
	for range kills {
		<-time.After(rand.N(150 * time.Millisecond)) // at any moment
		victim := all[0]
		all = all[1:]
		if err := victim.Process.Signal(os.Kill); err != nil {
			t.Fatal(err)
		}
		_ = victim.Wait() // reports that the process was killed
		if victim.ProcessState.ExitCode() != -1 {
			t.Fatalf("a process failed before it was killed: %s", victim.stderr.String())
		}
		add()
	}
	f, err := os.Open(board)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name := range int64(workNames) {
		before, err := readNumber(f, 24*name+16)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "a name is taken after the last kill", func() bool {
			now, err := readNumber(f, 24*name+16)
			return err == nil && now > before
		})
	}
	for _, p := range all {
		p.kill()
		if p.ProcessState.ExitCode() != -1 {
			t.Errorf("a process failed: %s", p.stderr.String())
		}
	}
	checkIntegrity(t, path)
}

func checkIntegrity(t testing.TB, path string) {
	t.Helper()
	e := openFile(t, path)
	err := e.read(context.Background(), func(v *view) error {
		var says string
		err := v.row([]any{&says}, "PRAGMA integrity_check")
		if err == nil && says != "ok" {
			err = errors.New(says)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
