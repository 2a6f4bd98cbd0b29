package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// path is the network path from one client to one address. It replaces the connections that the
// client library would open.
type path struct {
	client  *client
	address string
}

// delivery says what happens to one request and its answer.
type delivery struct {
	before, after time.Duration
	// The request is held back until this is closed, however long that takes; nil: it is not.
	until            <-chan struct{}
	requestLost      bool // the request never arrives
	answerLost       bool // the answer is lost
	connectionBreaks bool // the connection breaks before the answer
}

// patience is how long the client library waits for an answer.
const patience = 3 * time.Second

var errNoConnections = errors.New("the simulator has no connections")

// DialHook implements redis.Hook.
func (w *path) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errNoConnections }
}

// ProcessHook implements redis.Hook.
func (w *path) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		answers, err := w.send(ctx, [][]string{arguments(cmd)})
		if err != nil {
			return err
		}
		return setAnswer(cmd, answers[0])
	}
}

// ProcessPipelineHook implements redis.Hook.
func (w *path) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (first error) {
		var batch [][]string
		for _, cmd := range cmds {
			batch = append(batch, arguments(cmd))
		}
		answers, err := w.send(ctx, batch)
		for i, cmd := range cmds {
			each := err
			if err == nil {
				each = setAnswer(cmd, answers[i])
			}
			cmd.SetErr(each)
			if first == nil {
				first = each
			}
		}
		return first
	}
}

// arguments returns a command as it is sent.
func arguments(cmd redis.Cmder) (all []string) {
	for _, arg := range cmd.Args() {
		switch a := arg.(type) {
		case string:
			all = append(all, a)
		case *string:
			all = append(all, *a)
		case *int64:
			all = append(all, strconv.FormatInt(*a, 10))
		case int, int64, uint16, uint64:
			all = append(all, fmt.Sprint(a))
		default:
			panic(fmt.Sprintf("%T is not an argument that the simulator knows", arg))
		}
	}
	return all
}

// setAnswer stores an answer in a command.
func setAnswer(cmd redis.Cmder, answer any) error {
	if refused, is := answer.(refusal); is {
		return refused
	}
	if answer == nil {
		return redis.Nil
	}
	if ok, is := answer.(status); is {
		answer = string(ok)
	}
	switch c := cmd.(type) {
	case interface{ SetVal(any) }:
		c.SetVal(answer)
	case *redis.IntCmd:
		c.SetVal(answer.(int64))
	case interface{ SetVal(string) }:
		c.SetVal(answer.(string))
	default:
		panic(fmt.Sprintf("%T is not a command that the simulator knows", cmd))
	}
	return nil
}

// send sends a pipeline of commands and returns the answers. A request that was sent arrives,
// whether or not anybody still waits, unless the server ends before.
func (w *path) send(ctx context.Context, batch [][]string) ([]any, error) {
	type reply struct {
		answers []any
		err     error
	}
	f := w.client.drawDelivery(w.address, batch)
	to := w.client.simulation.cluster.serverAt(w.address)
	if to == nil {
		return nil, errConnectionBroken
	}
	replies := make(chan reply, 1)
	go func() {
		time.Sleep(f.before)
		if f.requestLost {
			return
		}
		if f.until != nil {
			<-f.until
		}
		var r reply
		if r.err = to.awaitArrival(); r.err == nil && to.isNoLongerConnected(batch) {
			r.err = errConnectionBroken
		}
		if r.err == nil {
			r.answers = to.executeAll(batch)
			w.client.noteConfirmations(batch, r.answers)
		}
		time.Sleep(f.after)
		if f.connectionBreaks {
			r = reply{err: errConnectionBroken}
		}
		if !f.answerLost {
			replies <- r
		}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case r := <-replies:
		return r.answers, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late.C:
		return nil, os.ErrDeadlineExceeded
	}
}

// noteConfirmations notes whether too few replicas have confirmed a grant. The client will undo it.
func (c *client) noteConfirmations(batch [][]string, answers []any) {
	if last := len(batch) - 1; batch[last][0] == "wait" && answers[last] == int64(0) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.undoing[slotOfBatch(batch)] = true
	}
}

// isNoLongerConnected reports whether a batch loads scripts for another server, which was at this address before. The
// engine asks a server what it is, and loads the scripts, on one connection, which breaks when the server ends: it
// belongs to a transaction, for which the client library does not connect again. There are no connections here, so this
// is where that shows.
func (s *server) isNoLongerConnected(batch [][]string) bool {
	return batch[0][0] == "script" && !strings.HasPrefix(batch[0][2], "-- "+s.runID)
}

// executeAll executes the commands of one connection.
func (s *server) executeAll(batch [][]string) (answers []any) {
	asking := false
	for _, args := range batch {
		if args[0] == "asking" {
			asking = true
			answers = append(answers, status("OK"))
			continue
		}
		answers = append(answers, s.execute(args, asking))
		asking = false
	}
	return answers
}

// connect creates a client of the client library.
func (c *client) connect() redis.UniversalClient {
	node := func(o *redis.Options) *redis.Client {
		o.MaxRetries, o.Protocol = -1, 2
		one := redis.NewClient(o)
		one.AddHook(&path{c, o.Addr})
		return one
	}
	if c.simulation.cluster.alone {
		return node(&redis.Options{Addr: address(0)})
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{address(0)}, MaxRetries: -1, Protocol: 2, DisableRoutingPolicies: true, NewClient: node,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return c.simulation.cluster.slots(), nil },
	})
}

// slots returns which server owns which slots.
func (c *cluster) slots() (all []redis.ClusterSlot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.servers {
		c.ranges(at, func(first, last int) {
			all = append(all,
				redis.ClusterSlot{Start: first, End: last, Nodes: []redis.ClusterNode{{Addr: address(at)}}})
		})
	}
	return all
}

// slotOfBatch returns the slot of a request's first key, or -1 if it has no key.
func slotOfBatch(batch [][]string) int {
	for _, args := range batch {
		if keys := keysOf(args); len(keys) > 0 && !strings.EqualFold(args[0], "watch") {
			return redisserver.Slot(keys[0])
		}
	}
	return -1
}
