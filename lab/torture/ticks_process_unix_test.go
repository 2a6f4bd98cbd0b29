//go:build unix

package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/once"
	"github.com/leasehold-go/leasehold/postgres"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/sqlite"
)

// ticksVariable turns the test binary into a process that runs ticks: "once" or "lock", the address of the register,
// and the URL of the engine, with spaces between.
const ticksVariable = "LEASEHOLD_TORTURE_TICKS"

const (
	tickPeriod = 200 * time.Millisecond
	ticksTTL   = time.Second
	ticksName  = "ticks"
	longestRun = 100 * time.Millisecond
)

// openURL opens the engine of a URL.
func openURL(ctx context.Context, url string) (interface {
	driver.Engine
	io.Closer
}, error) {
	switch scheme, rest, _ := strings.Cut(url, "://"); scheme {
	case "redis":
		return redis.Open(url)
	case "postgres":
		return postgres.Open(ctx, url)
	case "etcd":
		return etcd.Open(url)
	default:
		return sqlite.Open(rest)
	}
}

// runTicks runs ticks until it is killed.
func runTicks(what string) int {
	mode, rest, _ := strings.Cut(what, " ")
	register, url, _ := strings.Cut(rest, " ")
	ctx := context.Background()
	e, err := openURL(ctx, url)
	if err != nil {
		return failed(err)
	}
	to, err := dialRegister(register)
	if err != nil {
		return failed(err)
	}
	c := leasehold.New(e, leasehold.WithRequestTimeout(answer))
	if mode == "lock" {
		return failed(to.runUnderLock(ctx, c))
	}
	job := once.New(c, ticksName, once.CatchUp(1_000_000), once.LockOptions(leasehold.TTL(ticksTTL)))
	return failed(job.Loop(ctx, once.Every(tickPeriod), func(_ context.Context, w *once.Work) error {
		return to.work(w.Tick().Time(), w.Token())
	}, nil))
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// runUnderLock runs what is due under a lock, and remembers what this process has run. It is what people do without a
// record of ticks.
func (r *toRegister) runUnderLock(ctx context.Context, c *leasehold.Client) error {
	s := once.Every(tickPeriod)
	for next := s.Next(time.Now()); ; next = s.Next(next) {
		time.Sleep(time.Until(next))
		lease, err := c.Mutex(ticksName, leasehold.TTL(ticksTTL)).TryLock(ctx)
		if err != nil {
			continue // somebody else runs it
		}
		err = r.work(next, lease.Token())
		if err := errors.Join(err, lease.Release()); errors.Is(err, io.EOF) {
			return err
		}
	}
}

// toRegister is a connection to the register of the test.
type toRegister struct {
	conn  net.Conn
	lines *bufio.Scanner
}

func dialRegister(address string) (*toRegister, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &toRegister{conn, bufio.NewScanner(conn)}, nil
}

// work has an effect in the middle of its time. The error says that the register has refused the token.
func (r *toRegister) work(tick time.Time, token uint64) error {
	for _, what := range []string{"begin", "effect"} {
		if _, err := fmt.Fprintln(r.conn, what, tick.UnixMilli(), token, os.Getpid()); err != nil {
			return err
		}
		if !r.lines.Scan() {
			return io.EOF
		}
		if said := r.lines.Text(); said != "ok" {
			return errors.New(said)
		}
		time.Sleep(rand.N(longestRun / 2))
	}
	return nil
}

// registered is one line that a process has sent.
type registered struct {
	what  string
	tick  int64 // milliseconds
	token uint64
	pid   int
}

func parseRegistered(line string) (registered, error) {
	parts := strings.Fields(line)
	if len(parts) != 4 {
		return registered{}, fmt.Errorf("the line %q", line)
	}
	tick, err1 := strconv.ParseInt(parts[1], 10, 64)
	token, err2 := strconv.ParseUint(parts[2], 10, 64)
	pid, err3 := strconv.Atoi(parts[3])
	return registered{parts[0], tick, token, pid}, errors.Join(err1, err2, err3)
}
