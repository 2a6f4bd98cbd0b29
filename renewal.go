package leasehold

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// alike is renewals that may take equally long, and go to the same server as far as is known.
type alike struct {
	limit time.Duration
	gate  *gate
}

// renew sends the renewals, in batches of those that are alike.
func (c *Client) renew(holds []*hold) {
	most := c.abilities.MaxBatch
	if most <= 0 {
		most = maxBatch
	}
	groups := map[alike][]*hold{}
	var order []alike // so that a schedule that is played again goes the same way
	for _, h := range holds {
		a := alike{h.renewLimit(), c.gates.of(h.lock.key)}
		if groups[a] == nil {
			order = append(order, a)
		}
		groups[a] = append(groups[a], h)
	}
	for _, a := range order {
		limit, gate, holds := a.limit, a.gate, groups[a]
		for len(holds) > 0 {
			n := min(len(holds), most)
			batch := holds[:n:n]
			holds = holds[n:]
			if c.abilities.Local {
				c.renewBatch(c.life, batch, nothing)
				continue
			}
			awaited := gate.await(c.renewer.now() + lateAfter(limit))
			go func() {
				ctx, cancel := context.WithTimeoutCause(c.life, limit, errNoAnswer)
				defer cancel()
				defer awaited.answered()
				if most := c.renewBatch(ctx, batch, awaited.answered); !most {
					gate.late(c.renewer.now() + limit)
				}
			}()
		}
	}
}

// renewBatch sends one batch. It calls answered when the engine has answered for the half of it, and reports whether it has: where leases are kept
// on several servers, one of them may be away.
func (c *Client) renewBatch(ctx context.Context, batch []*hold, answered func()) bool {
	items := make([]driver.Renewal, 0, len(batch))
	batch = slices.DeleteFunc(batch, func(h *hold) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.phase == held { // it may have been released since it was due
			items = append(items, driver.Renewal{Hold: h.ref(), TTL: h.lock.ttl})
		}
		return h.phase != held
	})
	if len(batch) == 0 {
		return true
	}
	heard := make([]bool, len(batch))
	var mu sync.Mutex
	most, certain := false, 0
	sent := driver.Now()
	c.engine.Renew(ctx, items, func(i int, err error) {
		mu.Lock()
		again := heard[i]
		heard[i] = true
		if !again && (err == nil || driver.IsNo(err)) {
			certain++
		}
		half := 2*certain >= len(batch)
		tell := half && !most
		most = half
		mu.Unlock()
		if tell {
			answered()
		}
		if !again {
			batch[i].renewed(sent, err)
		}
	})
	mu.Lock()
	heard, enough := slices.Clone(heard), most
	mu.Unlock()
	for i, h := range batch {
		if !heard[i] {
			h.renewed(sent, errNoAnswer)
		}
	}
	return enough
}

// lateAfter is after how long renewals without an answer are late, if one may take as long as limit: long before the lease is in danger.
func lateAfter(limit time.Duration) time.Duration { return limit / 8 }

// renewed takes in the outcome of a renewal. An old answer is as good as a new one: yes counts from the
// moment its request was sent, and no is for ever.
func (h *hold) renewed(sent driver.Instant, err error) {
	c := h.lock.client
	h.mu.Lock()
	if h.phase != held {
		h.mu.Unlock()
		return
	}
	now := driver.Now()
	slack := h.left(now)
	event := Renewed{About: h.lock.about(h.mode), Token: h.token, Slack: slack}
	switch {
	case err == nil:
		h.prolong(sent, h.lock.ttl)
		if h.left(now) > 0 {
			h.failures, h.danger, h.short = 0, false, false
			h.next = h.renewAfter(sent)
		}
		h.schedule(now)
		h.mu.Unlock()
	case driver.IsNo(err):
		event.Err = ErrLost
		h.refuse()
	default:
		event.Err = ErrUnavailable
		h.next = c.renewer.at(now) + h.retry()
		h.schedule(now)
		h.mu.Unlock()
	}
	for _, o := range c.observers.renew {
		o.ObserveRenew(event)
	}
}

// prolong makes the lease last ttl from sent, unless it lasts longer already. mu is held.
func (h *hold) prolong(sent driver.Instant, ttl time.Duration) {
	if sent.Since(h.start)+validity(ttl) > h.valid {
		h.start, h.valid = sent, validity(ttl)
	}
}

// extended takes in an Extend that the engine has confirmed.
func (h *hold) extended(sent driver.Instant, ttl time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == held {
		h.prolong(sent, ttl)
		h.schedule(driver.Now())
	}
}

// shared takes in a Downgrade that the engine has confirmed: others of this process may now come in, too. The hold
// has counted as a read lock since before it was sent.
func (h *hold) shared() {
	h.mu.Lock()
	turn := h.turn
	h.turn = false
	h.mu.Unlock()
	if turn {
		h.lock.client.queue.Done(h.lock.key)
	}
}

// refused ends a hold of which the engine says that it is none.
func (h *hold) refused() {
	h.mu.Lock()
	if h.phase != held {
		h.mu.Unlock()
		return
	}
	h.refuse()
}

// refuse is refused for a hold that is held. A take that is still under way may yet get the lock for nobody, and is
// then cleaned up. mu is held, and released.
func (h *hold) refuse() {
	h.finish(LossRefused, h.uncertain > h.lock.client.renewer.now())
}
