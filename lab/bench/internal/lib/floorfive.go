package lib

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// FloorFive is the least that a lock on five nodes can cost: the commands of Floor, sent to all
// nodes at the same time, and waiting for a majority, once to lock and once to unlock.
var FloorFive = Library{
	Name:   "floor five",
	Module: goRedis,
	On:     servers.FiveRedis,
	Config: "the commands of floor to all nodes at once; waits for a majority; passes over a node that has not " +
		"answered 256 requests; " + fiveClient,
	Open: openFloorFive,
}

// backlog is how many requests to one node may be in flight.
const backlog = 256

type floorFive struct {
	nodes      []*floorNode
	id         string
	attempts   atomic.Uint64
	ttl        time.Duration
	background sync.WaitGroup // requests that a majority did not wait for
}

type floorNode struct {
	client *goredis.Client
	slots  chan struct{}
}

func openFloorFive(at Config) (Session, error) {
	f := &floorFive{id: rand.Text(), ttl: at.TTL}
	if f.ttl == 0 {
		f.ttl = 30 * time.Second
	}
	for _, addr := range at.Addrs {
		f.nodes = append(f.nodes, &floorNode{nodeClient(at, addr), make(chan struct{}, backlog)})
	}
	return f, nil
}

func (f *floorFive) Lock(_ context.Context, name string) (Held, error) {
	attempt := strconv.FormatUint(f.attempts.Add(1), 16)
	owner := f.id + attempt
	// No name is used twice, so a late request to a slow node does no harm.
	key := name + ":" + attempt
	ctx := context.Background() // late requests continue without the caller
	err := f.majority(func(n *floorNode) error {
		return n.client.SetNX(ctx, key, owner, f.ttl).Err()
	})
	return Held{Release: func() error {
		return f.majority(func(n *floorNode) error {
			return compareAndDelete.Run(ctx, n.client, []string{key}, owner).Err()
		})
	}}, err
}

// majority asks all nodes and returns when more than half of them have said yes, or no longer can.
func (f *floorFive) majority(ask func(*floorNode) error) error {
	answers := make(chan error, len(f.nodes))
	for _, n := range f.nodes {
		select {
		case n.slots <- struct{}{}:
			f.background.Go(func() {
				answers <- ask(n)
				<-n.slots
			})
		default:
			answers <- errors.New("the node is busy")
		}
	}
	quorum := len(f.nodes)/2 + 1
	yes, no := 0, 0
	for yes < quorum {
		if err := <-answers; err == nil {
			yes++
		} else if no++; no > len(f.nodes)-quorum {
			return fmt.Errorf("no majority: the last node says: %w", err)
		}
	}
	return nil
}

func (f *floorFive) Close() error {
	f.background.Wait()
	var errs []error
	for _, n := range f.nodes {
		errs = append(errs, n.client.Close())
	}
	return errors.Join(errs...)
}
