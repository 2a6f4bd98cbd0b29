package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// relay is a name on some nodes that one waiter holds and others wait for. The holder was told of the first of them.
type relay struct {
	*testQuorum
	arbiter int
	waiters []*relayWaiter // in the order of the queue

	mu   sync.Mutex
	sent []string // "METHOD NODE" of all requests
	plan func(node int, method string) delivery
}

type relayWaiter struct {
	*relay
	engine  *Engine
	owner   string
	cancel  context.CancelFunc
	granted chan driver.Grant // closed without one if Wait has failed
}

// newRelay returns nodes on which a waiter holds for a moment already, and others wait.
func newRelay(t *testing.T, nodes, waiting int) *relay {
	s := &relay{testQuorum: newTestQuorum(t, nodes)}
	holder := s.client(steady)
	s.arbiter = holder.arbiter(key).index
	s.mustTake(holder, "holder")
	for i := range 1 + waiting {
		s.join(fmt.Sprint("waiter ", i))
	}
	s.mustRelease(holder, "holder")
	<-s.waiters[0].granted
	time.Sleep(100 * ms)
	s.takeSent()
	return s
}

func (s *relay) join(owner string) *relayWaiter {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	w := &relayWaiter{relay: s, owner: owner, cancel: cancel, granted: make(chan driver.Grant, 1)}
	w.engine = s.client(networkPlan{plan: func(node int, method string) delivery {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, fmt.Sprint(method, " ", node))
		if s.plan != nil {
			return s.plan(node, method)
		}
		return steady.plan(node, method)
	}})
	if _, err := w.engine.Take(ctx, joining(owner)); !errors.Is(err, driver.ErrHeld) {
		s.t.Fatalf("%s: %v, want ErrHeld", owner, err)
	}
	go func() {
		defer close(w.granted)
		if g, err := w.engine.Wait(ctx, joining(owner)); err == nil {
			w.owner = cmp.Or(g.Owner, w.owner)
			w.granted <- g
		}
	}()
	s.waiters = append(s.waiters, w)
	time.Sleep(50 * ms)
	return w
}

func (w *relayWaiter) release() {
	w.t.Helper()
	err := w.engine.Release(w.t.Context(), driver.Release{Hold: holdOf(w.owner), Place: w.owner})
	if err != nil && !driver.IsNo(err) {
		w.t.Errorf("release: %v", err)
	}
}

// setPlan says what happens to requests from now on.
func (s *relay) setPlan(plan func(node int, method string) delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// takeSent returns which requests were sent, and forgets them. Listings are left out.
func (s *relay) takeSent() (sent []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sent {
		if !strings.HasPrefix(one, "list") {
			sent = append(sent, one)
		}
	}
	s.sent = nil
	return sent
}

// holders returns how many nodes say that the name is held with a token.
func (s *relay) holders(token uint64) (n int) {
	for _, p := range s.nodes {
		page, _ := p.engine.List(context.Background(), driver.Query{})
		if len(page) == 1 && len(page[0].Holders) == 1 && page[0].Holders[0].Token == token {
			n++
		}
	}
	return n
}

// refusePasses has all nodes but the arbiter count ahead of the clocks of clients, so that they pass nothing on.
func (s *relay) refusePasses() {
	other := request("other")
	other.Name = "other"
	for i, p := range s.nodes {
		if i != s.arbiter {
			s.takeFromOn(i, other, uint64(time.Now().Add(time.Hour).UnixMicro()))
			_ = p.engine.Release(s.t.Context(), driver.Release{Hold: driver.Hold{Key: other.Key, Owner: other.Owner}})
		}
	}
}

// expectNothingLeft releases a waiter, and expects that all nodes are free soon, long before leases end.
func (s *relay) expectNothingLeft(w *relayWaiter) {
	s.t.Helper()
	w.release()
	time.Sleep(time.Second)
	if s.freeNodes() != len(s.nodes) {
		s.t.Errorf("%d of %d nodes are free", s.freeNodes(), len(s.nodes))
	}
}

// A name is passed from its holder to the first waiter with one request to each node, and none by the waiter. All
// nodes grant it with the same token, and the lease counts from before the first request.
func TestNameIsPassedToTheFirstWaiter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newRelay(t, n, 2)
			before := uint64(0)
			for i := range 2 {
				released := driver.Now()
				s.waiters[i].release()
				g := <-s.waiters[i+1].granted
				if d := driver.Now().Since(released); d != 40*ms {
					t.Errorf("%d nodes: granted after %v, want two requests", n, d)
				}
				if sent := s.takeSent(); len(sent) != n {
					t.Errorf("%d nodes: the requests %q were sent, want one to each node", n, sent)
				}
				if g.Owner == "" || g.Token <= before || g.Start.Since(released).Abs() > ms || g.TTL <= 0 ||
					g.TTL > maxPassedLease {
					t.Errorf("%d nodes: after the release of token %d at %v, the grant is %+v", n, before, released, g)
				}
				if s.holders(g.Token) != n {
					t.Errorf("only %d of %d nodes have granted it", s.holders(g.Token), n)
				}
				before = g.Token
				time.Sleep(100 * ms)
				s.takeSent()
			}
			s.expectNothingLeft(s.waiters[2])
		})
	}
}

// A minority of the nodes is not waited for.
func TestNameIsPassedWhileNodesAreSilent(t *testing.T) {
	t.Parallel()
	for _, silent := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := newRelay(t, 5, 1)
			for i := range silent {
				s.nodes[(s.arbiter+1+i)%5].freeze()
			}
			if d := durationOf(func() {
				s.waiters[0].release()
				<-s.waiters[1].granted
			}); d != 40*ms {
				t.Errorf("%d nodes are silent: granted after %v", silent, d)
			}
			for _, p := range s.nodes {
				p.thaw()
			}
			time.Sleep(time.Second)
			s.expectNothingLeft(s.waiters[1])
		})
	}
}

// If the first waiter is not the one that the holder was told of, the name is released as usual, and nothing stays with
// the owner that nobody has become.
func TestWaiterThatHasGivenUpIsPassedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 2)
		s.waiters[1].cancel()
		s.waiters[1].release()
		if d := durationOf(func() {
			s.waiters[0].release()
			<-s.waiters[2].granted
		}); d > 200*ms {
			t.Errorf("the second waiter is granted the name after %v", d)
		}
		s.expectNothingLeft(s.waiters[2])
	})
}

// A waiter that gives up at any moment while the name is passed to it leaves nothing behind.
func TestGivingUpWhileTheNameIsPassedLeavesNothing(t *testing.T) {
	t.Parallel()
	for at := time.Duration(0); at < 60*ms; at += ms {
		synctest.Test(t, func(t *testing.T) {
			s := newRelay(t, 3, 1)
			go s.waiters[0].release()
			time.Sleep(at)
			s.waiters[1].cancel()
			<-s.waiters[1].granted
			s.expectNothingLeft(s.waiters[1])
			if e := s.waiters[1].engine; len(e.calls.byOwner) > 0 {
				t.Errorf("given up at %v: the engine still knows of it", at)
			}
		})
	}
}

// The arbiter's answer is lost, or the request that passes the name to the waiter. If the waiter holds, it keeps all
// that it was passed; otherwise it is granted the name long before the lease of the owner ends that nobody has become.
func TestHandOverWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newRelay(t, 5, 1)
			s.setPlan(func(node int, method string) delivery {
				d := steady.plan(node, method)
				d.lost, d.replyLost = lost && method == "hand over", method == "hand over"
				return d
			})
			var g driver.Grant
			if d := durationOf(func() {
				s.waiters[0].release()
				g = <-s.waiters[1].granted
			}); d > nodeTimeout+200*ms {
				t.Errorf("granted after %v", d)
			}
			time.Sleep(time.Second)
			if n := s.holders(g.Token); n < 3 || n < 5 && !lost {
				t.Errorf("%d of 5 nodes have the name (the request is lost: %v)", n, lost)
			}
			s.expectNothingLeft(s.waiters[1])
		})
	}
}

// A pass to one node arrives after the release of the owner that it names. It does not stay there until its lease ends.
func TestLatePassIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 1)
		slow := (s.arbiter + 1) % 5
		s.setPlan(func(node int, method string) delivery {
			if node == slow && method == "pass" {
				return delivery{requestDelay: 150 * ms}
			}
			return steady.plan(node, method)
		})
		s.waiters[0].release()
		<-s.waiters[1].granted
		s.expectNothingLeft(s.waiters[1])
	})
}

// A node that had not granted the name to the holder grants it to the waiter: otherwise one that missed a take would
// have no vote for as long as the name is passed on.
func TestPassTakesWhatIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 1)
		s.releaseOn((s.arbiter+1)%5, s.waiters[0].owner)
		s.waiters[0].release()
		if g := <-s.waiters[1].granted; s.holders(g.Token) != 5 {
			t.Errorf("%d of 5 nodes have granted it", s.holders(g.Token))
		}
		s.expectNothingLeft(s.waiters[1])
	})
}

// On a node where somebody else waits, the name is not passed, and the holder is released.
func TestHolderIsReleasedWhereOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 1)
		other := (s.arbiter + 1) % 5
		if _, err := s.nodes[other].engine.Take(t.Context(), joining("other")); !errors.Is(err, driver.ErrHeld) {
			t.Fatalf("%v, want ErrHeld", err)
		}
		s.waiters[0].release()
		if g := <-s.waiters[1].granted; g.Owner == "" || s.holders(g.Token) != 4 {
			t.Errorf("%d of 5 nodes have granted it", s.holders(g.Token))
		}
		time.Sleep(100 * ms)
		s.releaseOn(other, "other")
		s.expectNothingLeft(s.waiters[1])
	})
}

// The arbiter has passed the name to the waiter, and then restarts with older data, in which the holder still has it.
// The holder, which had no answer, is told that it held. The waiter keeps what it was passed all the same.
func TestRestoredArbiterTakesNothingFromTheWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 1)
		before := s.nodes[s.arbiter].backup()
		s.setPlan(func(node int, method string) delivery {
			d := steady.plan(node, method)
			d.connectionBreaks = method == "hand over"
			return d
		})
		go s.waiters[0].release()
		time.Sleep(35 * ms) // the arbiter has passed it, and its message is on its way
		s.nodes[s.arbiter].restore(before, 0)
		g := <-s.waiters[1].granted
		time.Sleep(time.Second)
		if n := s.holders(g.Token); n != 4 {
			t.Errorf("%d nodes have the name, want all but the arbiter", n)
		}
	})
}

// Whoever closes the engine while a name is passed, or right after its release, has passed it all the same: the next
// waiter does not wait until the lease of the holder ends.
func TestCloseWhileTheNameIsPassed(t *testing.T) {
	t.Parallel()
	for at := ms; at < 60*ms; at += ms {
		for _, refused := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newRelay(t, 5, 1)
				if refused {
					s.refusePasses()
				}
				go s.waiters[0].release()
				time.Sleep(at)
				s.waiters[0].engine.Close()
				if d := durationOf(func() { <-s.waiters[1].granted }); d > 100*ms {
					t.Errorf("closed after %v, passes are refused: %v: granted after %v", at, refused, d)
				}
				s.expectNothingLeft(s.waiters[1])
			})
		}
	}
}

// A holder that is quick waits for slower nodes before the name is passed to the waiter. Its release does not return
// before that: a program that ends then would leave the name to nobody.
func TestReleaseReturnsWhenTheNameIsBeingPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRelay(t, 5, 1)
		slow := -1
		s.setPlan(func(node int, method string) delivery {
			switch {
			case method == "wait":
				return delivery{} // is told at once
			case node == slow && method == "pass":
				return delivery{requestDelay: 100 * ms}
			}
			return steady.plan(node, method)
		})
		quick, last := s.join("quick"), s.join("last")
		for i := range 2 {
			s.waiters[i].release()
			<-s.waiters[i+1].granted
		}
		s.takeSent()
		s.mu.Lock()
		slow = (s.arbiter + 1) % 5
		s.mu.Unlock()
		quick.release()
		synctest.Wait()
		if want, sent := fmt.Sprint("hand over ", s.arbiter), s.takeSent(); !slices.Contains(sent, want) {
			t.Errorf("the release has returned before %q: %q", want, sent)
		}
		<-last.granted
		s.expectNothingLeft(last)
	})
}
