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

var _ driver.NodeChanger = (*Engine)(nil)

// settle is how long servers that are changing their list stay in neither. Programs look at most this long before
// they ask a server for something to which list it belongs, so all that was granted by the old list was asked for
// before that is over.
const settle = redis.ListBelieved

// ChangeNodes implements [driver.NodeChanger]. All servers must answer. So many of each list to which they belonged
// must be among them that the others of it are no majority: else that would go on beside the new one.
func (e *Engine) ChangeNodes(ctx context.Context) (opens time.Time, err error) {
	if e.set.list.own == "" {
		return opens, driver.Permanent(errors.New("redlock engine: the clients do not show the addresses of the servers: use clients that do, or `leasehold open --change-nodes`"))
	}
	before, err := e.lists(ctx)
	if err != nil {
		return opens, err
	}
	if err := e.set.list.mayEnd(before); err != nil {
		return opens, driver.Permanent(err)
	}
	own := e.set.list.own
	between := make([]string, len(before))
	for i, word := range before {
		old, _, _ := strings.Cut(word, changing)
		between[i] = old + changing + own
	}
	if err := e.enlist(ctx, before, func(i int) string { return between[i] }); err != nil {
		return opens, err
	}
	pause := time.NewTimer(settle)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return opens, ctx.Err()
	}
	if err := e.enlist(ctx, between, func(int) string { return own }); err != nil {
		return opens, err
	}
	longest := e.Abilities().MaxTTL
	return time.Now().Add(longest + longest/100), nil
}

// lists asks all servers to which list they belong.
func (e *Engine) lists(ctx context.Context) (words []string, err error) {
	words = make([]string, len(e.members))
	return words, e.each(func(i int, m *member) error {
		if err := m.meet(ctx); err != nil {
			return err
		}
		s, err := m.Server(ctx)
		if err == nil && s.List == "" {
			err = driver.Permanent(errors.New("with guard=off nobody looks to which list a server belongs"))
		}
		words[i] = s.List
		return err
	})
}

// enlist changes the word of each server from what it was, and closes it for as long as the longest lease.
func (e *Engine) enlist(ctx context.Context, before []string, word func(i int) string) error {
	return e.each(func(i int, m *member) error {
		now, err := m.Enlist(ctx, before[i], word(i), true)
		if err == nil && now != word(i) {
			err = driver.NoEffect(errors.New("somebody else is changing the list at the same time: say it again"))
		}
		if err == nil {
			_ = m.may(now)
		}
		return err
	})
}

// each does something with all servers at the same time.
func (e *Engine) each(do func(i int, m *member) error) error {
	errs := make([]error, len(e.members))
	var work sync.WaitGroup
	for i, m := range e.members {
		work.Go(func() {
			if err := do(i, m); err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.name, err)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// mayEnd is an error if the servers of an old list that are not among these are a majority of it. A server that is on its way from there into this list was
// counted when that began, by a change that was broken off. Others may have arrived since, and nobody can tell whence. So such servers are not held against
// this list; but they count for it if another server is still in the old one.
func (l *list) mayEnd(before []string) error {
	among, leaves := map[string]int{}, map[string]bool{}
	for _, word := range before {
		old, to, _ := strings.Cut(word, changing)
		if old != noList && old != l.own {
			among[old]++
			leaves[old] = leaves[old] || to != l.own
		}
	}
	for word, here := range among {
		if !leaves[word] {
			continue
		}
		size, _, _ := strings.Cut(word, "-")
		n, err := strconv.Atoi(size)
		if others := n - here; err != nil || others >= n/2+1 {
			return fmt.Errorf("redlock engine: %d of these servers belong to another list, and %d others of it would go on by themselves as its majority: "+
				"change fewer servers at a time; or stop all programs, and start those servers anew and empty", here, others)
		}
	}
	return nil
}
