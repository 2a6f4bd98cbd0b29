package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/driver"
)

// maxTries is how often a request starts again because the node of the name was created or removed meanwhile.
const maxTries = 20

// waiterTTL is how long an entry outlives the last sign that its waiter is there.
const waiterTTL = 30 * time.Second

// Take implements [driver.Engine].
//
// A free name takes one round trip: the node of the name and the entry are created together, which succeeds only if
// nobody holds or waits.
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	from := driver.Now()
	if err := e.client.checkTTL(r.TTL); err != nil {
		return driver.Grant{}, err
	}
	if err := e.client.ensureSession(ctx, from, r.TTL); err != nil {
		return driver.Grant{}, err
	}
	key := ownerKey{r.Key, ownerID(r.Owner)}
	for try := range maxTries {
		g, err := e.take(ctx, &r, key, from)
		if errors.Is(err, errGone) {
			continue
		}
		if err = asUnexpected(err); try > 0 {
			err = e.asUnknownIfJoined(key, err)
		}
		return g, err
	}
	return driver.Grant{}, e.asUnknownIfJoined(key, errNodeChanging)
}

// asUnknownIfJoined is for the error of a later try of a take: an earlier one may have joined, and found then that what
// it was to wait for is gone.
func (e *Engine) asUnknownIfJoined(key ownerKey, err error) error {
	if node, _ := e.owned.find(key); node == nil || driver.IsNo(err) {
		return err
	}
	return asUnknown(err)
}

// take is one attempt, for a lease that starts at from. It returns errGone if what it has read is gone meanwhile.
func (e *Engine) take(ctx context.Context, r *driver.Request, key ownerKey, from driver.Instant) (driver.Grant, error) {
	node, unknown := e.owned.find(key)
	if node == nil && unknown {
		var err error
		if node, err = e.findUnanswered(ctx, r, key); err != nil {
			return driver.Grant{}, err
		}
	}
	if node != nil {
		return e.takeAgain(ctx, r, node, from)
	}
	if !r.Join || !e.owned.contended.Has(r.Key) {
		node, err := e.takeFree(ctx, r, key)
		if err == nil {
			return e.grant(ctx, node, r.TTL, from)
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return driver.Grant{}, err
		}
	}
	if !r.Join {
		node, err := e.checkBeforeCreate(ctx, r, key, unknown)
		switch {
		case err != nil:
			return driver.Grant{}, err
		case node != nil:
			return e.takeAgain(ctx, r, node, from)
		}
	}
	node, err := e.join(ctx, r, key)
	if err != nil {
		return driver.Grant{}, err
	}
	return e.finishTake(ctx, r, node, from, r.MaxWaiters)
}

// takeFree takes a name that is free. It returns ErrNodeExists if the name may not be free.
func (e *Engine) takeFree(ctx context.Context, r *driver.Request, key ownerKey) (*ownedNode, error) {
	for {
		node, at, err := e.createNode(ctx, r, key, true)
		if at != 0 || !errors.Is(err, zk.ErrNoNode) {
			return node, err
		}
		if err := e.createParents(ctx, e.kindNode(r.Kind)); err != nil {
			return nil, err
		}
	}
}

// join creates an entry behind others in the queue.
func (e *Engine) join(ctx context.Context, r *driver.Request, key ownerKey) (*ownedNode, error) {
	node, _, err := e.createNode(ctx, r, key, false)
	if errors.Is(err, zk.ErrNoNode) {
		e.owned.contended.Remove(r.Key)
		err = errGone
	}
	return node, err
}

// createNode creates an entry, alone in a new node of the name or behind others, and returns the entry that the owner
// has now. The token is the number of the transaction: the czxid of the nodes that it has created, and the mzxid of the
// one that it has written.
func (e *Engine) createNode(
	ctx context.Context, r *driver.Request, key ownerKey, alone bool,
) (has *ownedNode, at int, err error) {
	node := &ownedNode{
		ownerKey: key, parent: e.nameNode(r.Key), mode: nodeMode(r), weight: r.Weight, size: r.Size,
		holder: r.Holder, ttl: millis(r.TTL),
	}
	prefix := node.parent + "/" + namePrefix(node.mode, node.weight, node.size, key.id, newNonce())
	ops := []any{
		&zk.CreateRequest{
			Path: prefix, Data: node.recordLocked().bytes(), Acl: e.acl, Flags: zk.FlagEphemeral | zk.FlagSequence,
		},
		&zk.SetDataRequest{Path: node.parent, Version: -1},
	}
	if alone {
		ops = append([]any{&zk.CreateRequest{Path: node.parent, Acl: e.acl}}, ops...)
	}
	var noted *ownedNode // even by an answer that comes too late
	at, err = e.client.multi(ctx, func(made []zk.MultiResponse, session int64) {
		made = made[len(made)-2:]
		node.name = made[0].String[len(node.parent)+1:]
		node.token = uint64(made[1].Stat.Mzxid)
		node.session = session
		noted = e.addOwned(node, alone, r.TTL)
		e.client.setClock(made[1].Stat)
	}, ops...)
	switch {
	case err == nil && noted.token > driver.MaxToken:
		e.scheduleRemoval(noted)
		return nil, at, errSpent
	case err == nil:
		return noted, at, nil
	case !driver.HadNoEffect(err) && !isAnswer(err):
		e.owned.noteUnknown(key)
	}
	return nil, at, err
}

// addOwned adds an entry, and returns the one that counts: the owner's earlier entry if there is one. Then the new one
// is removed.
func (e *Engine) addOwned(node *ownedNode, alone bool, ttl time.Duration) (has *ownedNode) {
	has = e.owned.add(node, alone)
	if has.name != node.name {
		e.scheduleRemoval(node)
	}
	e.touch(has, max(ttl, waiterTTL))
	return has
}

// createParents creates a node and all above it, as far as they are missing.
func (e *Engine) createParents(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		stat, err := e.client.exists(ctx, path[:i])
		if err == nil && stat == nil {
			err = e.client.create(ctx, path[:i], e.acl)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// finishTake answers a take whose entry is in the queue. The entry is removed again if its owner does not want to wait,
// or if the queue is full. Of several owners that join at the same time, each sees those that came before it, so the
// queue exceeds its limit only for a moment, by those that are about to leave.
func (e *Engine) finishTake(
	ctx context.Context, r *driver.Request, node *ownedNode, from driver.Instant, maxWaiters int,
) (driver.Grant, error) {
	pos, err := e.readPosition(ctx, node)
	switch {
	case err != nil:
		return driver.Grant{}, asUnknown(err) // the entry stays
	case pos.holds:
		return e.grant(ctx, node, r.TTL, from)
	}
	e.owned.contended.Add(r.Key, contendedFor)
	full := r.Join && maxWaiters > 0 && pos.waitersBefore >= maxWaiters
	if !r.Join || full {
		if err := e.removeOwned(ctx, node); err != nil && !errors.Is(err, errGone) {
			return driver.Grant{}, driver.Spent(asUnknown(err)) // the entry may be in its own owner's way for a moment
		}
	}
	if full {
		return driver.Grant{}, driver.ErrTooManyWaiters
	}
	return driver.Grant{}, driver.ErrHeld
}

// grant makes an entry a holder, for a lease that starts at from. If the connection has changed, it may have to make
// the session certain again.
func (e *Engine) grant(
	ctx context.Context, node *ownedNode, ttl time.Duration, from driver.Instant,
) (driver.Grant, error) {
	for range maxTries {
		g, err := e.noteGranted(node, ttl, from)
		if !errors.Is(err, errSessionUncertain) {
			return g, err
		}
		if err = e.client.ensureSession(ctx, from, ttl); err == nil {
			err = e.confirmOwn(ctx, node)
		}
		if err != nil {
			return driver.Grant{}, asUnknown(err)
		}
	}
	return driver.Grant{}, errSessionUncertain
}

// noteGranted makes an entry a holder, for a lease that starts at from, if the session is certain to last for the
// lease.
func (e *Engine) noteGranted(node *ownedNode, ttl time.Duration, from driver.Instant) (driver.Grant, error) {
	session, longest := e.client.current()
	certain := e.client.certainRemaining(node.session, from)
	e.owned.mu.Lock()
	defer e.owned.mu.Unlock()
	switch {
	case node.removed || node.session != session:
		return driver.Grant{}, errGone
	case ttl > longest: // since a moment ago
		return driver.Grant{}, asUnknown(errShorter)
	case ttl > certain:
		return driver.Grant{}, errSessionUncertain
	}
	first := !node.granted
	node.granted = true
	e.extendLocked(node, ttl, first)
	return driver.Grant{Token: node.token, Tokens: 1}, nil
}

// takeAgain is take for an owner that has an entry already.
func (e *Engine) takeAgain(
	ctx context.Context, r *driver.Request, node *ownedNode, from driver.Instant,
) (driver.Grant, error) {
	if err := e.confirmOwn(ctx, node); err != nil {
		return driver.Grant{}, err
	}
	e.owned.mu.Lock()
	granted := node.granted
	e.owned.mu.Unlock()
	if !granted {
		return e.finishTake(ctx, r, node, from, 0)
	}
	return e.grant(ctx, node, r.TTL, from)
}
