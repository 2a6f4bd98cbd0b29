package place

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// How many nodes there are.
const nodes = 5

// Nodes are five Redis servers that know nothing of each other. The last one can be made to fail.
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
	for range nodes {
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

// AddrsByCable is Addrs, but the way to the last node leads through what Blackhole cuts.
func (n *Nodes) AddrsByCable() []string {
	all := n.Addrs()
	all[len(all)-1] = n.proxy.Addr()
	return all
}

// About says which servers they are.
func (n *Nodes) About() About {
	return About{FiveRedis, fmt.Sprintf("%d × %s", len(n.all), n.last().version), n.last().About().Config}
}

// A Fault is something that happens to the last node.
type Fault struct {
	Break, Mend func() error
}

// Stopped: the process of the last node stands still (SIGSTOP).
func (n *Nodes) Stopped() Fault {
	return Fault{Break: n.last().own.Pause, Mend: func() error { return errors.Join(n.last().own.Resume(), n.settle()) }}
}

// Blackholed: bytes to and from the last node vanish on their way, for those who use AddrsByCable.
func (n *Nodes) Blackholed() Fault {
	return Fault{
		Break: func() error { n.proxy.Freeze(); return nil },
		Mend:  func() error { n.proxy.Thaw(); return n.settle() },
	}
}

// settle waits until the last node has done what has piled up: it answers, and within a moment.
func (n *Nodes) settle() error {
	const prompt, limit = 2 * time.Millisecond, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for in := 0; in < 3; {
		began := time.Now()
		if err := n.last().client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("the node that was mended does not answer: %w", err)
		}
		in++
		if time.Since(began) > prompt {
			in = 0
		}
		time.Sleep(prompt)
		if ctx.Err() != nil {
			return nil // it answers, if slowly
		}
	}
	return nil
}

// Load adds up what all have done.
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

// Sweep sweeps all.
func (n *Nodes) Sweep(ctx context.Context, mark string) error {
	var errs []error
	for _, r := range n.all {
		errs = append(errs, r.Sweep(ctx, mark))
	}
	return errors.Join(errs...)
}

// Close ends all.
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
