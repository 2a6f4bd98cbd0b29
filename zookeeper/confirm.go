package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// This file has the ensemble confirm that nodes exist. A read, or a sync before it, is not enough: a leader answers a
// sync without asking the other servers if no change is in flight. A leader that was frozen, or is cut off, does so for
// up to a tick although there is another leader by now, under which the session may have ended. So what is sent here is
// a transaction that checks versions and changes nothing: a majority records it, in the session of the sender, or there
// is no answer. A refusal is recorded as well. What is read after the answer is no older than it. This takes no right
// but to read.

// maxChecked and maxCheckedBytes limit what one transaction checks. A server accepts 1 MB.
const maxChecked, maxCheckedBytes = 256, 128 << 10

// confirmAll reports whether all of some nodes exist, as confirmed by a majority. If there is an answer, the session is
// alive.
func (c *client) confirmAll(ctx context.Context, paths ...string) (all bool, err error) {
	checks := make([]any, len(paths))
	for i, path := range paths {
		checks[i] = &zk.CheckVersionRequest{Path: path, Version: -1}
	}
	_, err = c.multi(ctx, nil, checks...)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// syncWithMajority has a majority confirm that the session is alive, so that what is read afterwards is no older than
// this call, whichever server is asked.
func (c *client) syncWithMajority(ctx context.Context, path string) error {
	_, err := c.confirmAll(ctx, path)
	return err
}

// confirmOwn is confirmAll for an entry of this process. It returns errGone if the entry does not exist any more.
func (e *Engine) confirmOwn(ctx context.Context, node *ownedNode) error {
	there, err := e.client.confirmAll(ctx, node.path())
	if err == nil && !there {
		e.forget(node)
		err = errGone
	}
	return err
}

// splitForTransactions splits the entries at some indexes into parts that one transaction each can check.
func splitForTransactions(nodes []*ownedNode, at []int) (all [][]int) {
	size := 0
	for _, i := range at {
		size += len(nodes[i].path())
		if last := len(all) - 1; last >= 0 && size <= maxCheckedBytes && len(all[last]) < maxChecked {
			all[last] = append(all[last], i)
			continue
		}
		all, size = append(all, []int{i}), len(nodes[i].path())
	}
	return all
}
