package redis

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
)

// recalls are the owners of this process that hold a lock which may be recalled, or have asked for one. The value of
// such a lock names the channel of this process. A script that lets an owner join the queue of the name publishes
// there.
type recalls struct {
	answering atomic.Int32 // answers in flight
	count     atomic.Int32 // how many owners there are

	mu     sync.Mutex
	byName map[string][]*recallable // by the value's key
	lost   []*recallable            // messages to them may have been lost
}

// recallable is one of these owners.
type recallable struct {
	key        driver.Key
	owner      string
	recall     func() (inUse bool)
	way        string // P or S: how the channel is published to
	subscriber subscriptions.Subscriber
}

// addRecallable registers the owner of a request that may be recalled, and returns what to store in the value. That is
// empty if this process cannot be notified: then the lock is taken, and cannot be recalled.
func (e *Engine) addRecallable(ctx context.Context, r quorumnode.Request, n redisKeys) (field string, err error) {
	if r.Recall == nil || e.mustPoll(n) {
		return "", nil
	}
	name, sharded := e.notifyChannel(n)
	if sharded && !e.subscriptions.IsOpen(name) && !e.knowsServer(ctx, n) {
		return "", nil
	}
	c := &recallable{key: r.Key, owner: r.Owner, recall: r.Recall}
	c.subscriber.Wake = func() {}
	c.subscriber.MessagesLost = func() { e.recallSoon(c) } // perhaps one of them was for this owner
	if c.way, err = e.subscribeAs(ctx, &c.subscriber, n, name, sharded); err != nil || c.way == "-" {
		e.subscriptions.Unsubscribe(&c.subscriber)
		return "", err
	}
	e.recalls.mu.Lock()
	defer e.recalls.mu.Unlock()
	e.recalls.count.Add(1)
	if e.recalls.byName == nil {
		e.recalls.byName = map[string][]*recallable{}
	}
	e.recalls.byName[n.value] = append(e.recalls.byName[n.value], c)
	return c.way + e.process, nil
}

// knowsServer makes sure that the server of a slot is known. Before the first request it may be a guess (cachedServer),
// and a server that is asked for the channel of a slot which it does not have ends the connection of all channels.
func (e *Engine) knowsServer(ctx context.Context, n redisKeys) bool {
	_, err := inTime(ctx, e, func(ctx context.Context) (*server, error) {
		return e.router.findServer(ctx, n, nil)
	}, nil)
	return err == nil // otherwise the take will say what is wrong
}

// removeRecallable forgets an owner that does not hold, or is about to release.
func (e *Engine) removeRecallable(valueKey, owner string) {
	if e.recalls.count.Load() == 0 {
		return
	}
	e.recalls.mu.Lock()
	list := e.recalls.byName[valueKey]
	at := slices.IndexFunc(list, func(c *recallable) bool { return c.owner == owner })
	if at < 0 {
		e.recalls.mu.Unlock()
		return
	}
	c := list[at]
	e.recalls.count.Add(-1)
	if len(list) == 1 {
		delete(e.recalls.byName, valueKey)
	} else {
		e.recalls.byName[valueKey] = slices.Delete(slices.Clone(list), at, at+1)
	}
	e.recalls.mu.Unlock()
	e.subscriptions.Unsubscribe(&c.subscriber)
}

// recallNow asks a holder of this process to let go of its lock. If it is in use, its release will hand over.
func (e *Engine) recallNow(c *recallable) (inUse bool) {
	inUse = c.recall()
	if inUse {
		e.wantedByOthers.Add(c.key)
	}
	return inUse
}

// recallSoon is recallNow, but returns at once: it is called with the mutex of the subscriptions locked, and a holder
// that lets go unsubscribes.
func (e *Engine) recallSoon(c *recallable) {
	e.recalls.mu.Lock()
	defer e.recalls.mu.Unlock()
	if e.recalls.lost = append(e.recalls.lost, c); len(e.recalls.lost) == 1 {
		go e.recallLost()
	}
}

// recallLost asks those holders to let go to whom messages may have been lost.
func (e *Engine) recallLost() {
	e.recalls.mu.Lock()
	lost := e.recalls.lost
	e.recalls.lost = nil
	e.recalls.mu.Unlock()
	for _, c := range lost {
		e.recallNow(c)
	}
}

// recallOwner asks a holder of this process to let go, if it may be recalled: its renewal has found that somebody
// waits. Usually a message has said so before. It may be lost, or the waiter may not publish.
func (e *Engine) recallOwner(valueKey, owner string) {
	e.recalls.mu.Lock()
	list := e.recalls.byName[valueKey]
	e.recalls.mu.Unlock()
	for _, c := range list {
		if c.owner == owner {
			e.recallNow(c)
		}
	}
}

const (
	// answerTimeLimit is how long the answer to a recall may take.
	answerTimeLimit = time.Second
	// maxAnswering is how many answers may be in flight. A try that gets none ends a little later.
	maxAnswering = 64
)

// onRecall handles the message "r <way> <process> <number> <value key>": somebody waits for a lock of this process, in
// that process. A number that is not 0 is that of a waiter that is to be told if the lock is in use.
func (e *Engine) onRecall(text string) {
	words := strings.SplitN(text, " ", 5)
	if len(words) < 5 {
		return
	}
	way, process, number, valueKey := words[1], words[2], words[3], words[4]
	e.recalls.mu.Lock()
	list := e.recalls.byName[valueKey]
	e.recalls.mu.Unlock()
	inUse := false
	for _, c := range list {
		inUse = e.recallNow(c) || inUse
	}
	if !inUse || number == "0" || len(process) != len(e.process) {
		return
	}
	if e.recalls.answering.Add(1) > maxAnswering {
		e.recalls.answering.Add(-1)
		return
	}
	go func() {
		defer e.recalls.answering.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeLimit)
		defer cancel()
		n := e.names(list[0].key)
		if way == "S" {
			e.client.SPublish(ctx, n.partPrefix()+"wake:"+process, "u "+number)
		} else {
			e.client.Publish(ctx, e.prefix+"wake:"+process, "u "+number)
		}
	}()
}
