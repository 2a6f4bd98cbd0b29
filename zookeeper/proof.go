package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// This file has the ensemble agree that nodes are there. To ask for that, or for a sync, is not enough: a leader answers a sync without asking the
// other servers when nothing is under way. One that was frozen, or is cut off, does so for up to a tick although there is another leader by now, by
// which the session may have ended. So what is asked here is a transaction that looks at versions and changes nothing: a majority writes it down, in
// the session of who asks, or there is no answer. Refusals are transactions, too. What is read afterwards is no older. It needs no rights but to
// read.

// mostChecked and mostCheckedBytes are how much one transaction looks at. A server takes 1 MB.
const mostChecked, mostCheckedBytes = 256, 128 << 10

// agree reports whether all of some nodes are there, by the word of a majority. The session lives, if there is an answer.
func (c *client) agree(ctx context.Context, paths ...string) (all bool, err error) {
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

// catchUp has a majority agree that the session lives, so that what is read afterwards is no older than this call, whatever server is asked.
func (c *client) catchUp(ctx context.Context, path string) error {
	_, err := c.agree(ctx, path)
	return err
}

// confirm is agree for one's own place. It answers errGone if that is not there any more.
func (e *Engine) confirm(ctx context.Context, p *place) error {
	there, err := e.client.agree(ctx, p.path())
	if err == nil && !there {
		e.drop(p)
		err = errGone
	}
	return err
}

// pieces divides the places with some indexes, so that one transaction can look at each piece.
func pieces(places []*place, at []int) (all [][]int) {
	size := 0
	for _, i := range at {
		size += len(places[i].path())
		if last := len(all) - 1; last >= 0 && size <= mostCheckedBytes && len(all[last]) < mostChecked {
			all[last] = append(all[last], i)
			continue
		}
		all, size = append(all, []int{i}), len(places[i].path())
	}
	return all
}
