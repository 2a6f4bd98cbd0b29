package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// waited is the request of the one who waits in these tests.
var waited = driver.Request{
	Key: driver.Key{Kind: driver.Lock, Name: "name"}, Owner: "own", Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1, Join: true,
}

// before says who stands in the line, created at 1, 2, 3…, with the waiter in its place.
func (f *fake) stand(owners ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := clientv3.LeaseID(7) // the first session
	if f.next > 0 {
		first = 1001
	}
	f.reads = func(*pb.RangeRequest) *pb.RangeResponse {
		a := &pb.RangeResponse{}
		for i, o := range owners {
			if o == "" { // gone
				continue
			}
			c := cardOf(waited, markOf(o))
			if o == waited.Owner {
				c = c.on(&session{id: first}, placeTTL)
			}
			a.Kvs = append(a.Kvs, &mvccpb.KeyValue{
				Key: []byte(pathOf(o)), CreateRevision: int64(i + 1), ModRevision: int64(i + 1), Lease: 7, Value: c.bytes(),
			})
		}
		return a
	}
}

// pathOf is the key of an owner who is alone in an engine of its name, as that of the waiter is.
func pathOf(owner string) string { return keys{DefaultPrefix}.places(waited.Key).place(owner, 0) }

// nobodyMayRead makes every further look an error.
func (f *fake) nobodyMayRead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = nil
}

// happens tells the watch of removals, each an owner at a revision.
func (f *fake) happens(removed ...any) {
	var r clientv3.WatchResponse
	for i := 0; i < len(removed); i += 2 {
		r.Events = append(r.Events, &clientv3.Event{
			Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte(pathOf(removed[i].(string))), ModRevision: int64(removed[i+1].(int))},
		})
	}
	f.watch <- r
}

func newWaited(t *testing.T) (*fake, *Engine) {
	f := &fake{term: 1, watch: make(chan clientv3.WatchResponse), opened: make(chan clientv3.Op, 10)}
	f.alive = func() (*pb.LeaseKeepAliveResponse, error) {
		return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, TTL: 100}, nil
	}
	return f, f.engine(t)
}

type told struct {
	grant driver.Grant
	err   error
}

func waitFor(ctx context.Context, e *Engine) chan told {
	done := make(chan told, 1)
	go func() {
		g, err := e.Wait(ctx, waited)
		done <- told{g, err}
	}()
	return done
}

// Whoever is next knows from the removals alone that it holds: nothing is read in between, and nothing that came later matters.
func TestTheNextOneHoldsWithoutAnotherRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.stand("first", "second", "own", "last")
		done := waitFor(t.Context(), e)
		if w := <-f.opened; string(w.KeyBytes()) != pathOf("") || w.Rev() != 0 || !w.IsFilterPut() {
			t.Errorf("the watch is of %q from %d: servers are slow to tell of the past", w.KeyBytes(), w.Rev())
		}
		synctest.Wait()
		f.nobodyMayRead()
		f.happens("second", 7) // gives up
		f.happens("last", 8)
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("told before its turn")
		}
		f.happens("first", 9)
		if a := <-done; a.err != nil || a.grant.Token != 3 || a.grant.Start.IsZero() || a.grant.TTL <= 0 || a.grant.TTL > placeTTL {
			t.Errorf("told %+v", a)
		}
	})
}

// A place that is removed before its turn, or at the same moment, is never taken for a grant: the waiter goes to the end.
func TestARemovedPlaceIsNeverGranted(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][][]any{
		"before":               {{"own", 7}, {"first", 8}},
		"before, in one reply": {{"own", 7, "first", 8}},
		"at the same moment":   {{"first", 8, "own", 8}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newWaited(t)
				f.stand("first", "own")
				ctx, cancel := context.WithCancel(t.Context())
				done := waitFor(ctx, e)
				<-f.opened
				synctest.Wait()
				joins := make(chan bool, 10)
				f.mu.Lock()
				f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
					joins <- true
					return nil, errUnasked
				}
				f.mu.Unlock()
				f.stand("stranger")
				f.happens(events[0]...)
				<-joins // it has noticed, and joins again
				if len(done) != 0 {
					t.Errorf("told %+v", <-done)
				}
				cancel()
				if a := <-done; !errors.Is(a.err, context.Canceled) || driver.HadNoEffect(a.err) {
					t.Errorf("a Wait whose join may be under way answered %v", a.err)
				}
			})
		})
	}
}

// One who has many before it is not woken by each of them.
func TestAWaiterFarBehindWatchesOneKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.stand("1", "2", "3", "4", "own")
		done := waitFor(t.Context(), e)
		if w := <-f.opened; string(w.KeyBytes()) != pathOf("3") || string(w.RangeBytes()) != pathOf("3")+"\x00" {
			t.Errorf("the watch is of %q to %q", w.KeyBytes(), w.RangeBytes())
		}
		f.stand("4", "own")
		f.happens("3", 9)
		if w := <-f.opened; string(w.KeyBytes()) != pathOf("") {
			t.Errorf("the watch of one who is next is of %q", w.KeyBytes())
		}
		f.happens("4", 11)
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("told %+v", a)
		}
	})
}

// A key that is there again is not the place that was there before.
func TestAWaiterDoesNotFollowWhoCameLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.stand("1", "2", "3", "4", "own")
		ctx, cancel := context.WithCancel(t.Context())
		done := waitFor(ctx, e)
		<-f.opened
		f.stand("", "", "", "4", "own", "3")
		began := time.Now()
		f.watch <- clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}}
		if w := <-f.opened; string(w.KeyBytes()) != pathOf("") || time.Since(began) > 0 {
			t.Errorf("it watches %q after %v", w.KeyBytes(), time.Since(began))
		}
		cancel()
		<-done
	})
}

// What happens between the read of the line and the beginning of the watch is seen, too, and what was read is not taken for news.
func TestWhatHappensBeforeTheWatchBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.stand("first", "own")
		done := waitFor(t.Context(), e)
		<-f.opened
		f.stand("again", "own")
		f.goesOn(9)
		f.watch <- clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}}
		synctest.Wait()
		f.nobodyMayRead()
		f.happens("again", 9) // the line was read after that
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("told before its turn")
		}
		began := time.Now()
		f.happens("again", 10)
		if a := <-done; a.err != nil || a.grant.Token != 2 || time.Since(began) > 0 {
			t.Errorf("told %+v after %v", a, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.stand("first", "own")
		done := waitFor(t.Context(), e)
		<-f.opened
		f.stand("", "own")
		f.watch <- clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}}
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("told %+v", a)
		}
	})
}

// A watch that tells nothing is made good by a look now and then, one that fails at once.
func TestLostEventsAreMadeGood(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fake){
		"silence":          func(*fake) {},
		"it is compacted":  func(f *fake) { f.watch <- clientv3.WatchResponse{CompactRevision: 9} },
		"it is cancelled":  func(f *fake) { f.watch <- clientv3.WatchResponse{Canceled: true} },
		"the client fails": func(f *fake) { close(f.watch) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newWaited(t)
				f.stand("first", "own")
				done := waitFor(t.Context(), e)
				<-f.opened
				synctest.Wait()
				f.stand("own")
				began := time.Now()
				lose(f)
				if a := <-done; a.err != nil || a.grant.Token != 1 {
					t.Errorf("told %+v", a)
				}
				if after := time.Since(began); after > lookEvery || name != "silence" && after > time.Second {
					t.Errorf("told after %v", after)
				}
			})
		})
	}
}

// While all is quiet a waiter costs the cluster three requests in five seconds at most: a heartbeat, which is two, each four seconds, and a look now and then. It goes on to watch
// meanwhile.
func TestAWaiterAsksLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.next = 7
		f.stand("first", "own")
		var asked int // under the mu of the fake
		stands, alive := f.reads, f.alive
		f.reads = func(r *pb.RangeRequest) *pb.RangeResponse {
			asked++
			return stands(r)
		}
		f.alive = func() (*pb.LeaseKeepAliveResponse, error) {
			asked += 2 // it is confirmed by a read
			return alive()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := waitFor(ctx, e)
		time.Sleep(2 * settled)
		watches := len(f.opened)
		f.mu.Lock()
		before := asked
		f.mu.Unlock()
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := asked - before + len(f.opened) - watches; n > 36 || n < 20 {
			t.Errorf("%d requests in a minute, want up to 36, and some", n)
		}
		cancel()
		f.mu.Unlock()
		<-done
		f.mu.Lock()
	})
}

// Without an answer a waiter asks again, but not all the time, and ends with its context.
func TestAWaiterWithoutAnswersPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var asked atomic.Int64
		f.alive = func() (*pb.LeaseKeepAliveResponse, error) {
			asked.Add(1)
			return nil, errors.New("no answer")
		}
		f.stand("first", "own")
		if _, _, err := e.sessions.get(t.Context(), class(placeTTL)); err != nil {
			t.Fatal(err)
		}
		f.nobodyMayRead()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if a := <-waitFor(ctx, e); !errors.Is(a.err, context.DeadlineExceeded) || !driver.HadNoEffect(a.err) {
			t.Errorf("told %+v", a)
		}
		if asked := asked.Load(); asked < 10 || asked > 150 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

// One who waits leaves a session to which nobody else comes when it looks for itself, and keeps its place.
func TestAWaiterLeavesARetiredSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		f.next = 7
		f.stand("first", "own")
		moved := make(chan int64, 1)
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if c := r.Compare[0]; c.GetTarget() != pb.Compare_MOD || c.GetModRevision() != 2 {
				t.Errorf("the place is written if %v", c)
			}
			moved <- r.Success[0].GetRequestPut().Lease
			return nil, errors.New("no more of it")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := waitFor(ctx, e)
		<-f.opened
		began := time.Now()
		Retire(e)
		select {
		case to := <-moved:
			if to != 8 || time.Since(began) > lookEvery {
				t.Errorf("it went to session %d after %v", to, time.Since(began))
			}
		case <-time.After(time.Minute):
			t.Error("it stays on its session")
		}
		cancel()
		<-done
	})
}
