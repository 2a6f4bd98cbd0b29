package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Opener = (*Engine)(nil)

// OpenNow implements [driver.Opener]. In a Cluster it opens all masters, with all slots that they have.
func (e *Engine) OpenNow(ctx context.Context, by string) (opened []string, err error) {
	if e.ears.closed() {
		return nil, errClosed
	}
	if by = strings.Join(strings.Fields(public(by)), " "); by == "" {
		return nil, driver.Permanent(errors.New("redis: to open a server takes the name of who does it, and a reason"))
	}
	if !e.guard {
		return nil, nil
	}
	return within(ctx, math.MaxInt64, func(ctx context.Context) ([]string, error) { return e.openNow(ctx, by) })
}

func (e *Engine) openNow(ctx context.Context, by string) (opened []string, err error) {
	n := e.names(driver.Key{Kind: driver.Lock, Name: "any"})
	clustered, err := e.place.isCluster(ctx, n)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	open := func(tx *redis.Tx) error {
		name, err := e.openServer(ctx, tx, by)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			opened = append(opened, name)
		}
		return err
	}
	if clustered {
		err = e.place.eachMaster(ctx, open)
		for i := range *e.place.gates.Load() { // the scripts look by themselves
			(*e.place.gates.Load())[i].Store(nil)
		}
		return opened, err
	}
	if err = e.place.pinned(ctx, n.value, open); err == nil {
		if on := e.place.guess(n); on != nil {
			_, err = e.place.look(ctx, n, on)
		}
	}
	return opened, explain(err)
}

// openServer opens one server, and returns what it is called.
func (e *Engine) openServer(ctx context.Context, tx *redis.Tx, by string) (string, error) {
	f, err := inquire(ctx, tx)
	switch {
	case err != nil:
		return "", err
	case f.replica:
		return "", driver.NoEffect(errors.New("redis: the server is a replica: it grants nothing anyway; open its master"))
	}
	program := e.assemble(f.identity(), f.cluster())
	if err := e.place.load(ctx, tx, program); err != nil {
		return "", err
	}
	if f.cluster() {
		return e.openMaster(ctx, tx, program, by)
	}
	err = tx.EvalSha(ctx, program.sha[guardOpen], []string{e.onlyMarker()}, e.maxTTL.Milliseconds(), by, "").Err()
	v := newVisit("")
	v.info["tcp_port"] = "of run_id " + f.runID
	return e.called(v), explain(err)
}

// openMaster opens a master of a Cluster: its record for the slots without a marker, and then the markers that there are. Slots on their way stay as they
// are: what has left may be missing.
func (e *Engine) openMaster(ctx context.Context, tx *redis.Tx, program *program, by string) (string, error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", explain(err)
	}
	me, found := self(text)
	if !found {
		return "", errMoving
	}
	marked, err := e.markers(ctx, tx, me)
	if err != nil {
		return "", explain(err)
	}
	record := []string{e.record(me.first())}
	err = tx.EvalSha(ctx, program.sha[guardMaster], record, e.maxTTL.Milliseconds(), me.epoch, me.ranges(), me.first(), by, marked).Err()
	if err != nil {
		return "", explain(err)
	}
	for some := range me.slots() {
		some = slices.DeleteFunc(some, me.gives)
		cmds, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, slot := range some {
				p.EvalSha(ctx, program.sha[guardOpen], []string{e.slotMarker(slot)}, e.maxTTL.Milliseconds(), by, 1)
			}
			return nil
		})
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil && !away(err) {
				return "", fmt.Errorf("redis: some slots of %s are open, and others not: %w", me.address, explain(err))
			}
		}
		if len(cmds) == 0 && len(some) > 0 {
			return "", explain(err)
		}
	}
	return me.address, nil
}
