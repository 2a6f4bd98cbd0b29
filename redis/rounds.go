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

// mostRounds is how often the masters of a Cluster are searched until all of them were.
const mostRounds = 5

var errUnsearched = driver.NoEffect(errors.New("redis: slots of the Cluster are kept by a server that the nodes which were asked do not name yet: try again"))

// rounds searches all masters of a Cluster. It does so twice if slots are on their way meanwhile: a key may go from a master that has yet to be searched to one
// that has been, but each only goes one way. And it does so again if the node that named the masters had not heard of one of them.
func (s *search) rounds(ctx context.Context) error {
	whole := 0
	for range mostRounds {
		r := &round{}
		err := s.place.eachMaster(ctx, func(tx *redis.Tx) error { return r.visit(ctx, tx, s) })
		switch {
		case err != nil:
			return err
		case r.named != r.kept:
			pause := time.NewTimer(longestPause)
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
	return errUnsearched
}

// round is one search of all masters.
type round struct {
	mu          sync.Mutex
	named, kept [slots]bool // the slots that some master has, as those say that were searched, and those that these have
	moving      bool        // slots were on their way
}

// visit searches one master.
func (r *round) visit(ctx context.Context, tx *redis.Tx, s *search) error {
	before, err := r.own(ctx, tx)
	if err == nil {
		err = s.scan(ctx, tx)
	}
	if err != nil {
		return err
	}
	after, err := r.own(ctx, tx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moving = r.moving || before != after || strings.Contains(after, "[")
	return err
}

// own asks a master for the slots that it has, as text, and notes them and those of the others. Those on their way to or from it are in brackets.
func (r *round) own(ctx context.Context, tx *redis.Tx) (own string, _ error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range parseNodes(text) {
		if n.myself {
			own = n.own
		}
		for _, a := range n.areas {
			for slot := a.first; slot <= a.last; slot++ {
				r.named[slot] = true
				r.kept[slot] = r.kept[slot] || n.myself
			}
		}
	}
	return own, nil
}
