package servers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// How many nodes there are.
const nodeCount = 5

// Nodes are five independent Redis servers. The last one can be made to fail.
type Nodes struct {
	all   []*Redis
	proxy *redisserver.Proxy // in front of the last
}

// OpenNodes starts them.
func OpenNodes(ctx context.Context) (_ *Nodes, err error) {
	n := &Nodes{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	for range nodeCount {
		r, err := OpenRedis(ctx, "")
		if err != nil {
			return nil, err
		}
		n.all = append(n.all, r)
	}
	n.proxy, err = redisserver.NewProxy(n.last().addr)
	return n, err
}

func (n *Nodes) last() *Redis { return n.all[len(n.all)-1] }

// Addrs returns the addresses of the servers themselves.
func (n *Nodes) Addrs() (all []string) {
	for _, r := range n.all {
		all = append(all, r.addr)
	}
	return all
}

// AddrsByProxy is Addrs, but the connection to the last node goes through the proxy that Blackholed
// cuts.
func (n *Nodes) AddrsByProxy() []string {
	all := n.Addrs()
	all[len(all)-1] = n.proxy.Addr()
	return all
}

// Info describes the servers.
func (n *Nodes) Info() Info {
	return Info{FiveRedis, fmt.Sprintf("%d × %s", len(n.all), n.last().version), n.last().Info().Config}
}

// A Fault is a fault of the last node.
type Fault struct {
	Break, Fix func() error
}

// Stopped stops the process of the last node (SIGSTOP).
func (n *Nodes) Stopped() Fault {
	return Fault{Break: n.last().started.Pause,
		Fix: func() error { return errors.Join(n.last().started.Resume(), n.awaitAll()) }}
}

// Blackholed drops all bytes to and from the last node, for clients that use AddrsByProxy.
func (n *Nodes) Blackholed() Fault {
	return Fault{
		Break: func() error { n.proxy.Freeze(); return nil },
		Fix:   func() error { n.proxy.Thaw(); return n.awaitAll() },
	}
}

// awaitAll waits until the last node has worked off its backlog and answers quickly.
func (n *Nodes) awaitAll() error {
	const prompt, limit = 2 * time.Millisecond, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for in := 0; in < 3; {
		began := time.Now()
		if err := n.last().client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("the node that was faulty does not answer: %w", err)
		}
		in++
		if time.Since(began) > prompt {
			in = 0
		}
		time.Sleep(prompt)
		if ctx.Err() != nil {
			return nil // it answers, but slowly
		}
	}
	return nil
}

// Load adds up the loads of all nodes.
func (n *Nodes) Load(ctx context.Context) (sum Load, err error) {
	for _, r := range n.all {
		l, err := r.Load(ctx)
		if err != nil {
			return Load{}, err
		}
		sum.Commands += l.Commands
		sum.CPU += l.CPU
		sum.Memory += l.Memory
	}
	return sum, nil
}

// RemoveKeys calls RemoveKeys of all nodes.
func (n *Nodes) RemoveKeys(ctx context.Context, mark string) error {
	var errs []error
	for _, r := range n.all {
		errs = append(errs, r.RemoveKeys(ctx, mark))
	}
	return errors.Join(errs...)
}

// Close ends all nodes.
func (n *Nodes) Close() error {
	var errs []error
	if n.proxy != nil {
		errs = append(errs, n.proxy.Close())
	}
	for _, r := range n.all {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
