package leasehold_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
)

// campaign stands for election under an id.
func campaign(e *leasehold.Election, id string) asker {
	return func(ctx context.Context) (*leasehold.Lease, error) { return e.Campaign(ctx, id) }
}

func TestOneLeadsAndAllKnowWho(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Election("king"), newClient(t, e).Election("king")
		_, err := there.Leader(t.Context())
		expectOnly(t, err, leasehold.ErrNoLeader)

		reign := take(t, campaign(here, "Anna"))
		next := begin(t.Context(), campaign(there, "Béla"))
		next.waits(t)
		for _, e := range []*leasehold.Election{here, there} {
			leader, err := e.Leader(t.Context())
			if want := (leasehold.Leader{ID: "Anna", Token: reign.Token()}); err != nil || leader != want {
				t.Errorf("the leader is %+v, %v, want %+v", leader, err, want)
			}
		}
		release(t, reign) // resign
		successor := next.gets(t)
		leader, err := here.Leader(t.Context())
		if want := (leasehold.Leader{ID: "Béla", Token: successor.Token()}); err != nil || leader != want {
			t.Errorf("the leader is %+v, %v, want %+v", leader, err, want)
		}
		if successor.Token() <= reign.Token() {
			t.Errorf("token %d follows %d", successor.Token(), reign.Token())
		}
	})
}

// Each candidate has a name of its own, so a lead is not handed on inside a process: the engine must know.
func TestCandidatesOfOneProcessAreToldApart(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		election := newClient(t, e).Election("king")
		var reigns []*outcome[*leasehold.Lease]
		ids := []string{"Anna", "Béla", "Cleo"}
		for _, id := range ids {
			o := begin(t.Context(), campaign(election, id))
			o.over()
			reigns = append(reigns, o)
		}
		for i, o := range reigns {
			lease := o.gets(t)
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
		lose(t, c, leasehold.KindLock, reign)
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

func TestObserveTellsEachChange(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		election := c.Election("king")
		ctx, stop := context.WithCancel(t.Context())
		seen := begin(ctx, func(ctx context.Context) (ids []string, err error) {
			for leader, err := range newClient(t, e).Election("king").Observe(ctx) {
				if err != nil {
					return ids, err
				}
				ids = append(ids, leader.ID)
			}
			return ids, nil
		})
		anna := begin(t.Context(), campaign(election, "Anna"))
		time.Sleep(1100 * time.Millisecond)
		release(t, anna.gets(t))
		time.Sleep(1100 * time.Millisecond)
		first := take(t, campaign(election, "Béla"))
		time.Sleep(1100 * time.Millisecond)
		second := begin(t.Context(), campaign(election, "Béla")) // the same id, another lead
		second.waits(t)
		release(t, first)
		time.Sleep(5 * time.Second)
		release(t, second.gets(t))
		time.Sleep(1100 * time.Millisecond)
		seen.waits(t)
		stop()
		got := seen.gets(t)
		if got[0] != "Anna" {
			got = got[1:] // the observer may have looked before the first campaign
		}
		if want := []string{"Anna", "", "Béla", "Béla", ""}; !slices.Equal(got, want) {
			t.Errorf("saw %q, want %q", got, want)
		}
	})
}

func TestObserveGoesOnAfterATrouble(t *testing.T) {
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
		watch := func(c *leasehold.Client, most int) func(context.Context) (int, error) {
			return func(ctx context.Context) (n int, err error) {
				for range c.Election("king").Observe(ctx) {
					if n++; n == most {
						break
					}
				}
				return n, nil
			}
		}
		c, closing := newClient(t, e), newClient(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		byContext, byClient := begin(ctx, watch(c, 0)), begin(t.Context(), watch(closing, 0))
		if n := begin(t.Context(), watch(c, 1)).gets(t); n != 1 {
			t.Errorf("saw %d leaders after leaving at the first", n)
		}
		byContext.waits(t)
		cancel()
		byContext.gets(t)
		byClient.waits(t)
		closing.Close()
		byClient.gets(t)
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
