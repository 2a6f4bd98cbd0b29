package torture

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// counter is a number in etcd, and processes that lock it.
type counter struct {
	*testing.T
	server *etcdserver.Server
	client *clientv3.Client
}

// errStale means that a transaction did not happen, since the lock had another holder.
var errStale = errors.New("the lock is not held any more")

// value reads the number.
func (c counter) value(ctx context.Context, key string) (int64, error) {
	r, err := c.client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return 0, err
	}
	return strconv.ParseInt(string(r.Kvs[0].Value), 10, 64)
}

// increment reads and writes, and pauses in between.
func (c counter) increment(key string, e *etcd.Engine, l *leasehold.Lease, guarded bool, pause func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var mine clientv3.Cmp
	var err error
	if guarded {
		// Guard before the pause, so that it is etcd that refuses a late write.
		if mine, err = e.Guard(l); err != nil {
			return errors.Join(errStale, err)
		}
	}
	n, err := c.value(ctx, key)
	if err != nil {
		return err
	}
	pause()
	write := clientv3.OpPut(key, strconv.FormatInt(n+1, 10))
	if !guarded {
		_, err = c.client.Do(ctx, write)
		return err
	}
	done, err := c.client.Txn(ctx).If(mine).Then(write).Commit()
	if err == nil && !done.Succeeded {
		err = errStale
	}
	return err
}

// increments adds one the given number of times under a lock, in several processes that pause from
// time to time for longer than their leases last. It returns how many of the additions are missing
// in the end.
func (c counter) increments(key string, times int64, guarded bool) (lost int64) {
	c.Helper()
	const (
		ttl     = 250 * time.Millisecond // also the request timeout
		stop    = 2 * ttl
		workers = 2
		every   = 100 // a worker pauses once in so many turns
	)
	var done, stopped, refused atomic.Int64
	var running sync.WaitGroup
	for worker := range workers {
		client, e := openEtcdEngine(c.T, patience, c.server.Addr())
		m := client.Mutex(key, leasehold.TTL(ttl), leasehold.NoRenew())
		running.Go(func() {
			for turn := rand.IntN(every / workers); done.Load() < times; turn++ {
				pause := func() {}
				if turn%every == (worker+1)*every/(workers+1) {
					pause = func() { time.Sleep(stop); stopped.Add(1) }
				}
				l, err := m.Lock(c.Context())
				if errors.Is(err, leasehold.ErrUnavailable) {
					continue // the machine is too busy for this TTL
				} else if err != nil {
					c.Errorf("Lock: %v", err)
					return
				}
				switch err := c.increment(key, e, l, guarded, pause); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, errStale):
					refused.Add(1)
				default:
					c.Errorf("an increment: %v", err)
				}
				if err := l.Release(); err != nil && !errors.Is(err, leasehold.ErrLost) {
					c.Errorf("Release: %v", err)
				}
			}
		})
	}
	running.Wait()
	n, err := c.value(c.Context(), key)
	if err != nil {
		c.Fatal(err)
	}
	c.Logf("%s: %d increments, %d pauses, %d refused, %d lost", key, done.Load(), stopped.Load(), refused.Load(),
		done.Load()-n)
	if stopped.Load() < workers {
		c.Errorf("there were only %d pauses", stopped.Load())
	}
	return done.Load() - n
}

// Processes that pause for longer than their leases last lose updates of others, unless they write
// on condition that they still hold the lock.
func TestEtcdGuardLosesNoUpdate(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastElection)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
	})
	c := counter{t, s, client}
	var lost [2]int64
	var running sync.WaitGroup
	running.Go(func() { lost[0] = c.increments("guarded", 1000, true) })
	running.Go(func() { lost[1] = c.increments("unguarded", 500, false) })
	running.Wait()
	if lost[0] != 0 {
		t.Errorf("with Guard %d updates were lost", lost[0])
	}
	if lost[1] <= 0 {
		t.Errorf("without Guard %d updates were lost: the test does not show what it is for", lost[1])
	}
}
