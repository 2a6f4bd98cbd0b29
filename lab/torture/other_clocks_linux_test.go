package torture

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// shiftedEnv makes a server read how far its clock is ahead from a file, and returns the path of
// the file.
func shiftedEnv(t *testing.T) (env []string, file string) {
	t.Helper()
	library := clockShift(t)
	file = filepath.Join(filepath.Dir(library), "shift")
	shiftClock(t, file, 0)
	return []string{"LD_PRELOAD=" + library, "CLOCK_SHIFT=" + file}, file
}

// When the clock of PostgreSQL is set back, nobody else gets the lock. When it is set forward,
// somebody does, as is documented, with a larger token; but not before a transaction that was
// guarded has ended.
func TestPostgresClockThatJumps(t *testing.T) {
	t.Parallel()
	env, file := shiftedEnv(t)
	s := postgresserver.ForTest(t, postgresserver.Config{Env: env})
	pool, err := pgxpool.New(t.Context(), s.URL()+"&pool_max_conns=32")
	noErr(t, err)
	t.Cleanup(pool.Close)
	noErr(t, postgres.Migrate(t.Context(), pool, postgres.DefaultSchema))
	b := bank{t, pool}
	first, engine := b.client()
	second, _ := b.client()
	serverTime := func() (at time.Time) {
		noErr(t, pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&at))
		return at
	}
	// Longer than the test, and shorter than the jumps, so that no renewal comes in between.
	const ttl = 50 * time.Second
	held, err := first.Mutex("name", leasehold.TTL(ttl)).Lock(t.Context())
	noErr(t, err)
	guarded, err := pool.Begin(t.Context())
	noErr(t, err)
	defer func() { _ = guarded.Rollback(context.Background()) }() // does nothing after Commit
	noErr(t, engine.Guard(t.Context(), guarded, held))

	other := second.Mutex("name", leasehold.TTL(ttl))
	shiftClock(t, file, -5*time.Minute)
	if ahead := time.Until(serverTime()); ahead > -4*time.Minute {
		t.Fatalf("the server's clock is %v ahead", ahead)
	}
	if _, err := other.TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		t.Fatalf("five minutes back: %v, want ErrHeld", err)
	}
	shiftClock(t, file, 5*time.Minute)
	_, err = other.TryLock(t.Context())
	if !errors.Is(err, leasehold.ErrHeld) && !errors.Is(err, leasehold.ErrUnavailable) {
		t.Fatalf("while a transaction that was guarded goes on: %v, want a refusal, or no answer in time", err)
	}
	if held.Context().Err() != nil {
		t.Error("the first holder knows already: nothing is shown")
	}
	noErr(t, guarded.Commit(t.Context()))
	lease, err := other.Lock(t.Context())
	noErr(t, err)
	if lease.Token() <= held.Token() {
		t.Errorf("token %d follows %d", lease.Token(), held.Token())
	}
	tx, err := pool.Begin(t.Context())
	noErr(t, err)
	if err := engine.Guard(t.Context(), tx, held); !errors.Is(err, postgres.ErrLeaseLost) {
		t.Errorf("the first holder may still write: %v, want ErrLeaseLost", err)
	}
	noErr(t, tx.Rollback(t.Context()))
	unlock(t, lease)
	_ = held.Release() // it is lost
}

// Sessions of ZooKeeper do not end by the wall clock, wherever it jumps to. AtLeast does.
func TestZooKeeperClockThatJumps(t *testing.T) {
	t.Parallel()
	env, file := shiftedEnv(t)
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{Tick: fastTicks.Tick, Env: env})
	const session = 5 * time.Second // leases of 2 s
	first, second := openZooKeeper(t, session, s.Addr()), openZooKeeper(t, session, s.Addr())
	watch, _, err := zk.Connect([]string{s.Addr()}, session, zk.WithLogInfo(false))
	noErr(t, err)
	defer watch.Close()
	held := lock(t, first.Mutex("name"))
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		shiftClock(t, file, ahead)
		node := "/clock" + ahead.String()
		_, err := watch.Create(node, nil, 0, zk.WorldACL(zk.PermAll))
		noErr(t, err)
		_, stat, err := watch.Exists(node)
		noErr(t, err)
		if shown := time.Until(time.UnixMilli(stat.Ctime)); (shown - ahead).Abs() > time.Minute {
			t.Fatalf("the server's clock is %v ahead, want %v", shown, ahead)
		}
		began := time.Now()
		await(t, "the lease lasts for longer than a session without a sign of life", func() bool {
			if err := held.Err(); err != nil {
				t.Fatalf("with a clock %v ahead the lease has ended: %v", ahead, err)
			}
			return held.Deadline().After(began.Add(2 * session))
		})
		if _, err := second.Mutex("name").TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
			t.Fatalf("with a clock %v ahead: %v, want ErrHeld", ahead, err)
		}
	}
	unlock(t, held)

	rested := lock(t, first.Mutex("rests", leasehold.AtLeast(10*time.Minute)))
	unlock(t, rested)
	if _, err := second.Mutex("rests").TryLock(t.Context()); !errors.Is(err, leasehold.ErrHeld) {
		t.Fatalf("before ten minutes have passed: %v, want ErrHeld", err)
	}
	shiftClock(t, file, 0) // an hour ahead of what the server showed when the lock was released
	unlockNext(t, lock(t, second.Mutex("rests")), rested)
}
