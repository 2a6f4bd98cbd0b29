package redisserver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// node is a node of a cluster as reported by a node.
type node struct {
	id, addr, master string
	flags            []string
	slots            []string // such as "0-5460" and "7000"
}

func (n node) has(flag string) bool { return slices.Contains(n.flags, flag) }

// owns reports whether the node owns a slot.
func (n node) owns(slot int) bool {
	return slices.ContainsFunc(n.slots, func(s string) bool {
		first, last, isRange := strings.Cut(s, "-")
		if !isRange {
			last = first
		}
		f, err1 := strconv.Atoi(first)
		l, err2 := strconv.Atoi(last)
		// An entry that is not a number describes a migration.
		return err1 == nil && err2 == nil && f <= slot && slot <= l
	})
}

// nodes returns what a server knows about its cluster: see
// https://redis.io/docs/latest/commands/cluster-nodes.
func (s *Server) nodes() (all []node, err error) {
	text, err := s.text("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 {
			return nil, fmt.Errorf("redisserver: CLUSTER NODES of %s has the line %q", s.Addr(), line)
		}
		addr, _, _ := strings.Cut(words[1], "@")
		all = append(all,
			node{id: words[0], addr: addr, flags: strings.Split(words[2], ","), master: words[3], slots: words[8:]})
	}
	return all, nil
}

// Owner returns the master of a slot, as soon as all running nodes agree on it. It waits no longer
// than Patience. Right after a failure the nodes may still agree on the failed one.
func (c *Cluster) Owner(slot int) (*Server, error) { return c.AwaitOwner(slot, nil) }

// AwaitOwner is Owner, but waits until the owner differs from other.
func (c *Cluster) AwaitOwner(slot int, other *Server) (owner *Server, err error) {
	err = await(fmt.Sprintf("slot %d has an owner", slot), func() error {
		var err error
		if owner, err = c.agreedOwner(slot); err == nil && owner == other {
			err = fmt.Errorf("it is still %s", owner.Addr())
		}
		return err
	})
	return owner, err
}

func (c *Cluster) agreedOwner(slot int) (owner *Server, err error) {
	up := c.running()
	if len(up) == 0 {
		return nil, errors.New("no node is up")
	}
	for i, n := range up {
		all, err := n.nodes()
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(k node) bool { return k.owns(slot) })
		if at < 0 {
			return nil, fmt.Errorf("%s knows no owner", n.Addr())
		}
		of := c.node(all[at].id)
		if of == nil {
			return nil, fmt.Errorf("for %s the owner is the unknown node %s", n.Addr(), all[at].addr)
		}
		if i > 0 && of != owner {
			return nil, fmt.Errorf("for %s it is %s, for another %s", n.Addr(), of.Addr(), owner.Addr())
		}
		owner = of
	}
	return owner, nil
}

// ReplicasOf returns the replicas of a master, according to that master.
func (c *Cluster) ReplicasOf(master *Server) (replicas []*Server, err error) {
	all, err := master.nodes()
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.has("slave") && k.master == c.id(master) {
			replicas = append(replicas, c.node(k.id))
		}
	}
	return replicas, nil
}

// node returns the node with an id, or nil.
func (c *Cluster) node(id string) *Server {
	if i := slices.Index(c.ids, id); i >= 0 {
		return c.Nodes[i]
	}
	return nil
}

// id returns the id of a node of the cluster.
func (c *Cluster) id(of *Server) string { return c.ids[slices.Index(c.Nodes, of)] }
