package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// listSettleTime is how long servers whose list is being changed stay in neither list. Before a request, programs check
// the list of a server unless they have done so within this time. So whatever the old list grants has been asked for
// before it is over.
const listSettleTime = redis.ListTrustedFor

// ChangeNodes makes the servers of this engine the list that counts from now on. Programs with another list that shares
// servers with it get no more grants, and their leases are not renewed. ChangeNodes returns when the servers grant
// again, that is when the earlier leases have ended. If it is interrupted, some servers may grant nothing until it is
// called again.
//
// All servers must answer. Of each list to which some of them have belonged, the servers that are not named must be no
// majority: they would go on beside the new list.
func (e *Engine) ChangeNodes(ctx context.Context) (opens time.Time, err error) {
	if e.set.list.ownHash == "" {
		return opens, driver.Permanent(errors.New("redlock engine: " +
			"the clients do not show the addresses of the servers: " +
			"use clients that do, or `leasehold open --change-nodes`"))
	}
	before, err := e.readListHashes(ctx)
	if err != nil {
		return opens, err
	}
	if err := e.set.list.checkOldMajority(before); err != nil {
		return opens, driver.Permanent(err)
	}
	own := e.set.list.ownHash
	between := make([]string, len(before))
	for i, hash := range before {
		old, _, _ := strings.Cut(hash, changingMark)
		between[i] = old + changingMark + own
	}
	if err := e.writeListHashes(ctx, before, func(i int) string { return between[i] }); err != nil {
		return opens, err
	}
	pause := time.NewTimer(listSettleTime)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return opens, ctx.Err()
	}
	if err := e.writeListHashes(ctx, between, func(int) string { return own }); err != nil {
		return opens, err
	}
	longest := e.Abilities().MaxTTL
	return time.Now().Add(longest + longest/100), nil
}

// readListHashes asks all servers to which list they belong.
func (e *Engine) readListHashes(ctx context.Context) (hashes []string, err error) {
	hashes = make([]string, len(e.nodes))
	return hashes, e.onEachNode(func(i int, n *node) error {
		if err := n.initNode(ctx); err != nil {
			return err
		}
		s, err := n.Server(ctx)
		if err == nil && s.List == "" {
			err = driver.Permanent(errors.New("with guard=off nobody checks to which list a server belongs"))
		}
		hashes[i] = s.List
		return err
	})
}

// writeListHashes changes the list hash of each server from what it was, and closes the server for as long as the
// longest lease.
func (e *Engine) writeListHashes(ctx context.Context, before []string, hash func(i int) string) error {
	return e.onEachNode(func(i int, n *node) error {
		now, err := n.Enlist(ctx, before[i], hash(i), true)
		if err == nil && now != hash(i) {
			err = driver.NoEffect(errors.New("somebody else is changing the list at the same time: run it again"))
		}
		if err == nil {
			_ = n.checkList(now)
		}
		return err
	})
}

// onEachNode does something with all servers at the same time.
func (e *Engine) onEachNode(do func(i int, n *node) error) error {
	errs := make([]error, len(e.nodes))
	var work sync.WaitGroup
	for i, n := range e.nodes {
		work.Go(func() {
			if err := do(i, n); err != nil {
				errs[i] = fmt.Errorf("%s: %w", n.name, err)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// checkOldMajority returns an error if the servers of an old list that are not named here are a majority of it.
//
// A server on its way from an old list into this one is left from an interrupted change, which has made this check.
// Other servers may have arrived here since, and nobody can tell from which list. So the servers on their way count as
// named if another server is still in the old list, and otherwise the old list is not checked again.
func (l *nodeList) checkOldMajority(before []string) error {
	named, stays := map[string]int{}, map[string]bool{} // by old list
	for _, hash := range before {
		old, to, _ := strings.Cut(hash, changingMark)
		if old != noListHash && old != l.ownHash {
			named[old]++
			stays[old] = stays[old] || to != l.ownHash
		}
	}
	for hash, here := range named {
		if !stays[hash] {
			continue
		}
		size, _, _ := strings.Cut(hash, "-")
		n, err := strconv.Atoi(size)
		if others := n - here; err != nil || others >= n/2+1 {
			return fmt.Errorf("redlock engine: %d of these servers belong to another list, and %d others of it "+
				"would go on by themselves as its majority: change fewer servers at a time; "+
				"or stop all programs, and start those servers anew and empty", here, others)
		}
	}
	return nil
}
