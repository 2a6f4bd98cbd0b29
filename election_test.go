package leasehold_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// campaign campaigns with an ID.
func campaign(e *leasehold.Election, id string) asker {
	return func(ctx context.Context) (*leasehold.Lease, error) { return e.Campaign(ctx, id) }
}

func TestOneLeadsAndAllKnowWho(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Election("king"), newClient(t, e).Election("king")
		_, err := there.Leader(t.Context())
		expectOnly(t, err, leasehold.ErrNoLeader)

		reign := take(t, campaign(here, "Anna"))
		next := start(t.Context(), campaign(there, "Béla"))
		next.wantWaiting(t)
		for _, e := range []*leasehold.Election{here, there} {
			leader, err := e.Leader(t.Context())
			if want := (leasehold.Leader{ID: "Anna", Token: reign.Token()}); err != nil || leader != want {
				t.Errorf("the leader is %+v, %v, want %+v", leader, err, want)
			}
		}
		release(t, reign) // resign
		successor := next.wantValue(t)
		leader, err := here.Leader(t.Context())
		if want := (leasehold.Leader{ID: "Béla", Token: successor.Token()}); err != nil || leader != want {
			t.Errorf("the leader is %+v, %v, want %+v", leader, err, want)
		}
		if successor.Token() <= reign.Token() {
			t.Errorf("token %d follows %d", successor.Token(), reign.Token())
		}
	})
}

// Each candidate has a holder text of its own, so leadership is not handed over inside a process: the engine must know.
func TestCandidatesOfOneProcessAreToldApart(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		election := newClient(t, e).Election("king")
		var reigns []*outcome[*leasehold.Lease]
		ids := []string{"Anna", "Béla", "Cleo"}
		for _, id := range ids {
			o := start(t.Context(), campaign(election, id))
			o.settle()
			reigns = append(reigns, o)
		}
		for i, o := range reigns {
			lease := o.wantValue(t)
			leader, err := election.Leader(t.Context())
			if err != nil || leader.ID != ids[i] || leader.Token != lease.Token() {
				t.Errorf("the leader is %+v, %v, want %s", leader, err, ids[i])
			}
			release(t, lease)
		}
	})
}

func TestALostLead(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		reign := take(t, campaign(c.Election("king"), "Anna"))
		lose(t, e, driver.Lock, reign)
		_, err := c.Election("king").Leader(t.Context())
		expect(t, err, leasehold.ErrNoLeader)
		expect(t, reign.Release(), leasehold.ErrLost)
	})
}

func TestAReaderIsNoLeader(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, c.RWMutex("king").RLock)
		_, err := c.Election("king").Leader(t.Context())
		expect(t, err, leasehold.ErrNoLeader)
	})
}

func TestObserveYieldsEachChange(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		election := c.Election("king")
		ctx, stop := context.WithCancel(t.Context())
		seen := start(ctx, func(ctx context.Context) (ids []string, err error) {
			for leader, err := range newClient(t, e).Election("king").Observe(ctx) {
				if err != nil {
					return ids, err
				}
				ids = append(ids, leader.ID)
			}
			return ids, nil
		})
		anna := start(t.Context(), campaign(election, "Anna"))
		time.Sleep(1100 * time.Millisecond)
		release(t, anna.wantValue(t))
		time.Sleep(1100 * time.Millisecond)
		first := take(t, campaign(election, "Béla"))
		time.Sleep(1100 * time.Millisecond)
		second := start(t.Context(), campaign(election, "Béla")) // the same ID, another leadership
		second.wantWaiting(t)
		release(t, first)
		time.Sleep(5 * time.Second)
		release(t, second.wantValue(t))
		time.Sleep(1100 * time.Millisecond)
		seen.wantWaiting(t)
		stop()
		got := seen.wantValue(t)
		if got[0] != "Anna" {
			got = got[1:] // Observe may have polled before the first campaign
		}
		if want := []string{"Anna", "", "Béla", "Béla", ""}; !slices.Equal(got, want) {
			t.Errorf("saw %q, want %q", got, want)
		}
	})
}

func TestObserveGoesOnAfterAnError(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		election := newClient(t, e).Election("king")
		take(t, campaign(election, "Anna"))
		e.fail(func(c call) error {
			if c.method == "List" {
				return errLost
			}
			return nil
		})
		var troubles int
		for leader, err := range election.Observe(t.Context()) {
			if err == nil {
				if leader.ID != "Anna" || troubles != 3 {
					t.Errorf("saw %q after %d troubles", leader.ID, troubles)
				}
				break
			}
			expectOnly(t, err, leasehold.ErrUnavailable)
			if troubles++; troubles == 3 {
				e.fail(nil)
			}
		}
	})
}

func TestObserveEndsWithItsContextTheCallerAndTheClient(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		watch := func(c *leasehold.Client, limit int) func(context.Context) (int, error) {
			return func(ctx context.Context) (n int, err error) {
				for range c.Election("king").Observe(ctx) {
					if n++; n == limit {
						break
					}
				}
				return n, nil
			}
		}
		c, closing := newClient(t, e), newClient(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		byContext, byClient := start(ctx, watch(c, 0)), start(t.Context(), watch(closing, 0))
		if n := start(t.Context(), watch(c, 1)).wantValue(t); n != 1 {
			t.Errorf("saw %d leaders after leaving at the first", n)
		}
		byContext.wantWaiting(t)
		cancel()
		byContext.wantValue(t)
		byClient.wantWaiting(t)
		closing.Close()
		byClient.wantValue(t)
	})
}

// A value that is not allowed does not become so by waiting.
func TestObserveEndsWhenItCannotWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		for _, err := range newClient(t, newSpy()).Election("").Observe(t.Context()) {
			expect(t, err, leasehold.ErrInvalid)
			if n++; n > 1 {
				t.Fatal("the same error came again")
			}
		}
	})
}
