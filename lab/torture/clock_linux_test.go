package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// clockShift builds a library that shifts the clock of a program, in a folder that all users can
// read.
func clockShift(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "clock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a folder that is left does no harm
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "clock.so")
	if text, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", library, "testdata/clock.c",
		"-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%sIs there a C compiler? Debian has one in the package gcc.", err, text)
	}
	return library
}

// shifted is a server whose clock can be set.
type shifted struct {
	*redisserver.Server
	file string
}

func startShifted(t *testing.T, library string) shifted {
	t.Helper()
	s := shifted{file: filepath.Join(t.TempDir(), "shift")}
	s.shift(t, 0)
	s.Server = redisserver.ForTest(t,
		redisserver.Config{Env: []string{"LD_PRELOAD=" + library, "CLOCK_SHIFT=" + s.file}})
	return s
}

// shift sets how far the server's clock is ahead.
func (s shifted) shift(t *testing.T, d time.Duration) {
	t.Helper()
	shiftClock(t, s.file, d)
}

// shiftClock sets how far the clock of the server that reads this file is ahead.
func shiftClock(t *testing.T, file string, d time.Duration) {
	t.Helper()
	// The server has the file open, so it must stay the same file.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(f, "%-12d", int(d.Seconds())); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// If one clock of five jumps five minutes ahead, nobody else gets the lock. If three do, somebody
// does, as is documented: the lease has expired for a majority. The token of the second holder is
// larger nevertheless, so a resource can tell which holder is late.
func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	var servers []shifted
	var addresses []string
	library := clockShift(t)
	for range 5 {
		s := startShifted(t, library)
		servers = append(servers, s)
		addresses = append(addresses, s.Addr())
	}
	first, second := openRedlock(t, addresses), openRedlock(t, addresses)
	const ttl = 50 * time.Second // longer than the test, and shorter than the jump, so that no renewal comes in between
	held, err := first.Mutex("name", leasehold.TTL(ttl)).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		await(t, "all servers have granted the lock", func() bool {
			n, err := s.Command("EXISTS", "lock:name")
			return err == nil && n == int64(1)
		})
	}
	other := second.Mutex("name", leasehold.TTL(ttl))
	for i, s := range servers[:2] {
		s.shift(t, 5*time.Minute)
		if _, err := other.TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
			t.Fatalf("with %d clocks of 5 five minutes ahead: %v", i+1, err)
		}
	}
	servers[2].shift(t, 5*time.Minute)
	var lease *leasehold.Lease
	// As soon as the votes of earlier attempts have been released.
	await(t, "a majority takes the lease for over", func() bool {
		lease, err = other.TryLock(t.Context())
		return !errors.Is(err, leasehold.ErrHeld)
	})
	if err != nil {
		t.Fatalf("with 3 clocks of 5 five minutes ahead: %v", err)
	}
	if held.Context().Err() != nil {
		t.Error("the first holder knows already: nothing is shown")
	}
	if lease.Token() <= held.Token() {
		t.Errorf("token %d follows %d", lease.Token(), held.Token())
	}
	lease.Release()
	held.Release()
}

// A server forgets everything in a restart, and then its clock is set forward, so that it seems to
// have run for long. The guard is not deceived.
func TestClockThatHidesARestart(t *testing.T) {
	t.Parallel()
	s := startShifted(t, clockShift(t))
	grantAtOnce(t, s.Addr())
	const ttl = 5 * time.Second
	c := open(t, s.Addr(), redis.WithMaxTTL(ttl))
	lease := lock(t, c.Mutex("name", leasehold.TTL(ttl)))
	began := time.Now()
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	s.shift(t, time.Hour)
	for who, c := range map[string]client{"has known it": c,
		"comes now": open(t, s.Addr(), redis.WithMaxTTL(ttl))} {
		_, err := c.Mutex("other", leasehold.TTL(ttl)).TryLock(t.Context())
		if _, closed := errors.AsType[*redis.ClosedError](err); !closed && time.Since(began) < ttl {
			t.Errorf("to one who %s the server grants %v after it has forgotten a lease of %v: %v", who,
				time.Since(began), ttl, err)
		}
	}
	_ = lease.Release() // it may be lost
}

// The clock of one master of a Cluster is further ahead than a lease lasts, and a slot is moved to
// it. Readers still exclude a writer, and the holder of the only permit excludes another one. The
// guard is off: it would exclude everybody for a while.
func TestSlotThatIsMovedToAnotherClock(t *testing.T) {
	t.Parallel()
	const ttl = 50 * time.Second
	c := redisserver.ClusterForTest(t, 3, 0,
		redisserver.Config{Env: []string{"LD_PRELOAD=" + clockShift(t), "CLOCK_SHIFT=shift"}})
	slot := redisserver.Slot(redis.DefaultPrefix + "name")
	from, err := c.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	to := c.Nodes[0]
	if to == from {
		to = c.Nodes[1]
	}
	shifted{Server: to, file: filepath.Join(to.Dir(), "shift")}.shift(t, 2*ttl)

	first, second := openCluster(t, c.Addrs()), openCluster(t, c.Addrs())
	reader, err := first.RWMutex("name", leasehold.TTL(ttl), leasehold.NoRenew()).RLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	permit, err := first.Semaphore("name", 1, leasehold.TTL(ttl), leasehold.NoRenew()).Acquire(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.StartMigration(slot, to)
	if err == nil {
		err = m.Finish()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.RWMutex("name", leasehold.TTL(ttl)).TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("a writer beside a reader: %v, want ErrHeld", err)
	}
	_, err = second.Semaphore("name", 1, leasehold.TTL(ttl)).TryAcquire(t.Context(), 1)
	if !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("a second permit of one: %v, want ErrHeld", err)
	}
	if err := errors.Join(reader.Release(), permit.Release()); err != nil {
		t.Error(err)
	}
}

// openCluster returns a client of the library on a Cluster, without the guard.
func openCluster(t *testing.T, addresses []string) *leasehold.Client {
	t.Helper()
	servers := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addresses})
	e, err := redis.New(servers, redis.WithoutFailoverGuard())
	if err != nil {
		t.Fatal(err)
	}
	c := leasehold.New(e)
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), e.Close(), servers.Close()); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	return c
}
