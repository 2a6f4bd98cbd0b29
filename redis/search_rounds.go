package redis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// maxRounds is how often the masters of a Cluster are searched until all of them were reached.
const maxRounds = 5

var errSearchIncomplete = driver.NoEffect(errors.New("redis: some slots of the Cluster belong to a server " +
	"that the other nodes do not name yet: try again"))

// searchMasters searches all masters of a Cluster. It does so twice if slots are moving meanwhile: a key may move from
// a master that has not been searched yet to one that has been, but it moves in one direction only. It also searches
// again if the node that named the masters did not know all of them.
func (s *keySearch) searchMasters(ctx context.Context) error {
	whole := 0
	for range maxRounds {
		r := &searchRound{}
		err := s.router.onEachMaster(ctx, func(tx *redis.Tx) error { return r.searchMaster(ctx, tx, s) })
		switch {
		case err != nil:
			return err
		case r.namedSlots != r.ownedSlots:
			pause := time.NewTimer(movingPauseMax)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return ctx.Err()
			}
			continue
		}
		if whole++; !r.moving || whole == 2 {
			return nil
		}
	}
	return errSearchIncomplete
}

// searchRound is one search of all masters.
type searchRound struct {
	mu sync.Mutex
	// Slots that some master has, according to those that were searched, and slots that these have themselves.
	namedSlots, ownedSlots [slots]bool
	moving                 bool // slots were moving
}

// searchMaster searches one master.
func (r *searchRound) searchMaster(ctx context.Context, tx *redis.Tx, s *keySearch) error {
	before, err := r.askSlots(ctx, tx)
	if err == nil {
		err = s.scan(ctx, tx)
	}
	if err != nil {
		return err
	}
	after, err := r.askSlots(ctx, tx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moving = r.moving || before != after || strings.Contains(after, "[")
	return err
}

// askSlots asks a master for the slots of all masters and notes them. It returns its own slots as text, with those that
// are moving in brackets.
func (r *searchRound) askSlots(ctx context.Context, tx *redis.Tx) (own string, _ error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range parseNodes(text) {
		if n.myself {
			own = n.slotText
		}
		for _, a := range n.slotRanges {
			for slot := a.first; slot <= a.last; slot++ {
				r.namedSlots[slot] = true
				r.ownedSlots[slot] = r.ownedSlots[slot] || n.myself
			}
		}
	}
	return own, nil
}
