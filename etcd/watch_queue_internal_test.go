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

// waitRequest is the waiter's request in these tests.
var waitRequest = driver.Request{
	Key: driver.Key{Kind: driver.Lock, Name: "name"}, Owner: "own", Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1,
	Join: true,
}

// setQueue makes the queue consist of the entries of these owners, created at 1, 2, 3 and so on. An empty name stands
// for a removed entry.
func (f *fake) setQueue(owners ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := clientv3.LeaseID(7) // the first session
	if f.nextBase > 0 {
		first = 1001
	}
	f.reads = func(*pb.RangeRequest) *pb.RangeResponse {
		a := &pb.RangeResponse{}
		for i, o := range owners {
			if o == "" { // removed
				continue
			}
			rec := newRecord(waitRequest, ownerMark(o))
			if o == waitRequest.Owner {
				rec = rec.onSession(&session{id: first}, maxWaiterTTL)
			}
			a.Kvs = append(a.Kvs, &mvccpb.KeyValue{
				Key: []byte(pathOf(o)), CreateRevision: int64(i + 1), ModRevision: int64(i + 1), Lease: 7,
				Value: rec.encode(),
			})
		}
		return a
	}
}

// pathOf returns the etcd key of the only owner of an engine whose key ID is that name, as that of the waiter is.
func pathOf(owner string) string {
	return keys{DefaultPrefix}.entryRange(waitRequest.Key).entryPath(owner, 0)
}

// forbidReads makes further reads of the queue fail.
func (f *fake) forbidReads() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = nil
}

// sendRemovals sends removals to the watch: pairs of an owner and a revision.
func (f *fake) sendRemovals(removed ...any) {
	var r clientv3.WatchResponse
	for i := 0; i < len(removed); i += 2 {
		r.Events = append(r.Events, &clientv3.Event{
			Type: mvccpb.DELETE,
			Kv:   &mvccpb.KeyValue{Key: []byte(pathOf(removed[i].(string))), ModRevision: int64(removed[i+1].(int))},
		})
	}
	f.send(r)
}

func newFakeEngine(t *testing.T) (*fake, *Engine) {
	f := &fake{term: 1, watches: make(chan clientv3.Op, 10)}
	f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
		return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, TTL: 100}, nil
	}
	return f, f.engine(t)
}

type waitResult struct {
	grant driver.Grant
	err   error
}

func startWait(ctx context.Context, e *Engine) chan waitResult {
	done := make(chan waitResult, 1)
	go func() {
		g, err := e.Wait(ctx, waitRequest)
		done <- waitResult{g, err}
	}()
	return done
}

// A waiter is woken when the entry before its own is removed. It then reads the queue up to its own entry, once, from
// whatever member is as far as that.
func TestWaiterReadsTheQueueWhenItIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("first", "own", "last")
		done := startWait(t.Context(), e)
		if w := <-f.watches; string(w.KeyBytes()) != pathOf("first") || w.Rev() != 0 || !w.IsFilterPut() {
			t.Errorf("the watch is of %q from %d: servers are slow to send past events", w.KeyBytes(), w.Rev())
		}
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("it returned before its turn")
		}
		f.setQueue("", "own", "last")
		f.setRevision(9)
		var asked []*pb.RangeRequest
		stands := f.reads
		f.reads = func(r *pb.RangeRequest) *pb.RangeResponse {
			asked = append(asked, r)
			return stands(r)
		}
		f.sendRemovals("first", 9)
		if a := <-done; a.err != nil || a.grant.Token != 2 || a.grant.Start.IsZero() || a.grant.TTL <= 0 ||
			a.grant.TTL > maxWaiterTTL {
			t.Errorf("it returned %+v", a)
		}
		if len(asked) != 1 || asked[0].MaxCreateRevision != 2 || !asked[0].Serializable {
			t.Errorf("it has asked for %v", asked)
		}
	})
}

// A member that has not come to the revision of a removal is not believed: the majority is asked.
func TestWaiterDoesNotBelieveAMemberThatLagsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("first", "own")
		done := startWait(t.Context(), e)
		<-f.watches
		synctest.Wait()
		f.setQueue("own") // which cannot be
		old := f.reads
		f.setQueue("", "own")
		now := f.reads
		f.reads = func(r *pb.RangeRequest) *pb.RangeResponse {
			if r.Serializable {
				return old(r)
			}
			f.written = 4
			return now(r)
		}
		f.sendRemovals("first", 9)
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("it returned %+v", a)
		}
	})
}

// An entry that is removed before its turn, or at the same moment, is never taken for a grant: the waiter joins again
// at the end.
func TestRemovedEntryIsNeverGranted(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][][]any{
		"before":               {{"own", 7}, {"first", 8}},
		"before, in one reply": {{"own", 7, "first", 8}},
		"at the same moment":   {{"first", 8, "own", 8}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				f.setQueue("first", "own")
				ctx, cancel := context.WithCancel(t.Context())
				done := startWait(ctx, e)
				<-f.watches
				synctest.Wait()
				joins := make(chan bool, 10)
				f.mu.Lock()
				f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
					joins <- true
					return nil, errUnexpectedRequest
				}
				f.mu.Unlock()
				f.setQueue("stranger")
				f.sendRemovals(events[0]...)
				<-joins // it has noticed, and joins again
				if len(done) != 0 {
					t.Errorf("it returned %+v", <-done)
				}
				cancel()
				if a := <-done; !errors.Is(a.err, context.Canceled) || driver.HadNoEffect(a.err) {
					t.Errorf("a Wait whose join may be in flight returned %v", a.err)
				}
			})
		})
	}
}

// A waiter with others before it is woken by the last of them only. If that one leaves before its turn, the waiter
// watches the one before.
func TestWaiterWatchesTheEntryBeforeItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("1", "2", "3", "4", "own")
		done := startWait(t.Context(), e)
		if w := <-f.watches; string(w.KeyBytes()) != pathOf("4") || len(w.RangeBytes()) > 0 {
			t.Errorf("the watch is of %q to %q", w.KeyBytes(), w.RangeBytes())
		}
		f.setQueue("", "2", "3", "", "own")
		f.sendRemovals("4", 9)
		if w := <-f.watches; string(w.KeyBytes()) != pathOf("3") {
			t.Errorf("it watches %q now", w.KeyBytes())
		}
		f.setQueue("", "", "", "", "own")
		f.sendRemovals("3", 11)
		if a := <-done; a.err != nil || a.grant.Token != 5 {
			t.Errorf("it returned %+v", a)
		}
	})
}

// A key that exists again is not the entry that was there before.
func TestWaiterIgnoresEntriesThatCameLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("1", "2", "3", "4", "own")
		ctx, cancel := context.WithCancel(t.Context())
		done := startWait(ctx, e)
		<-f.watches
		f.setQueue("", "", "3", "", "own", "4")
		began := time.Now()
		f.send(clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}})
		if w := <-f.watches; string(w.KeyBytes()) != pathOf("3") || time.Since(began) > 0 {
			t.Errorf("it watches %q after %v", w.KeyBytes(), time.Since(began))
		}
		cancel()
		<-done
	})
}

// Events between the read of the queue and the start of the watch are noticed, and events before that read are ignored.
func TestEventsBeforeTheWatchBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("first", "own")
		done := startWait(t.Context(), e)
		<-f.watches
		f.setRevision(9)
		f.send(clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}})
		synctest.Wait()
		f.sendRemovals("first", 9) // the queue was read after that
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("it returned before its turn")
		}
		began := time.Now()
		f.setQueue("", "own")
		f.sendRemovals("first", 10)
		if a := <-done; a.err != nil || a.grant.Token != 2 || time.Since(began) > 0 {
			t.Errorf("it returned %+v after %v", a, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.setQueue("first", "own")
		done := startWait(t.Context(), e)
		<-f.watches
		f.setQueue("", "own")
		f.send(clientv3.WatchResponse{Created: true, Header: &pb.ResponseHeader{Revision: 8}})
		if a := <-done; a.err != nil || a.grant.Token != 2 {
			t.Errorf("it returned %+v", a)
		}
	})
}

// Polling makes up for a watch that sends nothing. A watch that fails is replaced at once.
func TestLostEventsAreFoundByPolling(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fake){
		"silence":          func(*fake) {},
		"it is compacted":  func(f *fake) { f.send(clientv3.WatchResponse{CompactRevision: 9}) },
		"it is cancelled":  func(f *fake) { f.send(clientv3.WatchResponse{Canceled: true}) },
		"the client fails": func(f *fake) { close(f.watch) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				f.setQueue("first", "own")
				done := startWait(t.Context(), e)
				<-f.watches
				synctest.Wait()
				f.setQueue("own")
				began := time.Now()
				lose(f)
				if a := <-done; a.err != nil || a.grant.Token != 1 {
					t.Errorf("it returned %+v", a)
				}
				if after := time.Since(began); after > pollInterval || name != "silence" && after > time.Second {
					t.Errorf("it returned after %v", after)
				}
			})
		})
	}
}

// A waiter costs the cluster at most three requests in five seconds while nothing happens: a keepalive every four
// seconds, which is two requests, and a poll now and then. The watch goes on meanwhile.
func TestWaiterSendsFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.nextBase = 7
		f.setQueue("first", "own")
		var asked int // guarded by the fake's mutex
		stands, alive := f.reads, f.keepalives
		f.reads = func(r *pb.RangeRequest) *pb.RangeResponse {
			asked++
			return stands(r)
		}
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			asked += 2 // a read confirms it
			return alive()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := startWait(ctx, e)
		time.Sleep(2 * orphanCheckDelay)
		watches := len(f.watches)
		f.mu.Lock()
		before := asked
		f.mu.Unlock()
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := asked - before + len(f.watches) - watches; n > 36 || n < 20 {
			t.Errorf("%d requests in a minute, want up to 36, and some", n)
		}
		cancel()
		f.mu.Unlock()
		<-done
		f.mu.Lock()
	})
}

// Without answers a waiter asks again, with pauses, and ends with its context.
func TestWaiterWithoutAnswersBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var asked atomic.Int64
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			asked.Add(1)
			return nil, errors.New("no answer")
		}
		f.setQueue("first", "own")
		if _, _, err := e.sessions.get(t.Context(), sessionSeconds(maxWaiterTTL)); err != nil {
			t.Fatal(err)
		}
		f.forbidReads()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if a := <-startWait(ctx, e); !errors.Is(a.err, context.DeadlineExceeded) || !driver.HadNoEffect(a.err) {
			t.Errorf("it returned %+v", a)
		}
		if asked := asked.Load(); asked < 10 || asked > 150 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

// A waiter leaves a retired session with its next poll, and keeps its place.
func TestWaiterLeavesARetiredSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.nextBase = 7
		f.setQueue("first", "own")
		moved := make(chan int64, 1)
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if c := r.Compare[0]; c.GetTarget() != pb.Compare_MOD || c.GetModRevision() != 2 {
				t.Errorf("the entry is written if %v", c)
			}
			moved <- r.Success[0].GetRequestPut().Lease
			return nil, errors.New("no more of it")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := startWait(ctx, e)
		<-f.watches
		began := time.Now()
		RetireSessions(e)
		select {
		case to := <-moved:
			if to != 8 || time.Since(began) > pollInterval {
				t.Errorf("it went to session %d after %v", to, time.Since(began))
			}
		case <-time.After(time.Minute):
			t.Error("it stays on its session")
		}
		cancel()
		<-done
	})
}
