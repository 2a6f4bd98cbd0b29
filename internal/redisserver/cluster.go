package redisserver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Cluster is a Redis Cluster. It is safe for concurrent use.
type Cluster struct {
	// Nodes are the nodes in the order in which they were started: first the masters.
	Nodes []*Server

	masters int
	ids     []string // of Nodes
}

// clusterLines are the settings of every node. Replicas stay with their first master, and take over
// however long they have been without it.
var clusterLines = []string{
	"cluster-enabled yes",
	"cluster-config-file nodes.conf",
	"cluster-node-timeout 2000",
	"cluster-replica-validity-factor 0",
	"cluster-allow-replica-migration no",
}

// StartCluster starts a cluster of masters with equal shares of the slots, each with the given
// number of replicas. It waits until all nodes know the cluster and all replicas are in sync. A
// node counts as failed after 2 s (cluster-node-timeout). A majority of the masters decides that,
// so a failover takes at least 3 masters.
func StartCluster(masters, replicasEach int, c Config) (*Cluster, error) {
	if masters < 1 || replicasEach < 0 {
		return nil, fmt.Errorf("redisserver: a cluster of %d masters with %d replicas each: ask for at least 1 and 0",
			masters, replicasEach)
	}
	nodes, err := startAll(masters*(1+replicasEach), func(int) (*Server, error) { return start(c, clusterLines...) })
	if err != nil {
		return nil, err
	}
	cl := &Cluster{Nodes: nodes, masters: masters, ids: make([]string, len(nodes))}
	if err := cl.form(); err != nil {
		return nil, errors.Join(err, cl.Close())
	}
	return cl, nil
}

// form makes a cluster of nodes that do not know each other.
func (c *Cluster) form() error {
	err := runAll(len(c.Nodes), func(i int) (err error) {
		n := c.Nodes[i]
		if c.ids[i], err = n.text("CLUSTER", "MYID"); err != nil || i >= c.masters {
			return err
		}
		first, end := i*Slots/c.masters, (i+1)*Slots/c.masters
		return n.commands(
			// Equal epochs would have to be resolved by the nodes.
			[]string{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)},
			[]string{"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(end - 1)},
		)
	})
	if err != nil {
		return err
	}
	for i, n := range c.Nodes { // every node meets every other, which is faster than gossip
		for _, other := range c.Nodes[:i] {
			if _, err := n.Command("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port)); err != nil {
				return err
			}
		}
	}
	err = runAll(len(c.Nodes)-c.masters, func(i int) error {
		replica, master := c.Nodes[c.masters+i], i%c.masters
		err := await(replica.Addr()+" knows its master", func() error {
			_, err := replica.Command("CLUSTER", "REPLICATE", c.ids[master])
			return err
		})
		return errors.Join(err, replica.AwaitReplicaOf(c.Nodes[master]))
	})
	return errors.Join(err, await("all nodes of the cluster know it", c.incomplete))
}

// incomplete returns what a node does not know about the cluster.
func (c *Cluster) incomplete() error {
	for _, n := range c.Nodes {
		if err := errors.Join(n.clusterTrouble(), n.slotsUnknown()); err != nil {
			return err
		}
		known, err := n.nodes()
		if err != nil {
			return err
		}
		replicas := 0
		for _, k := range known {
			if k.has("handshake") || !slices.Contains(c.ids, k.id) {
				return fmt.Errorf("%s is still shaking hands", n.Addr())
			}
			if k.has("slave") && k.master != "-" {
				replicas++
			}
		}
		if len(known) != len(c.Nodes) || replicas != len(c.Nodes)-c.masters {
			return fmt.Errorf("%s knows %d nodes, %d of them replicas", n.Addr(), len(known), replicas)
		}
	}
	return nil
}

// clusterTrouble returns why the server does not consider its cluster well.
func (s *Server) clusterTrouble() error {
	info, err := s.text("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	if state := infoField(info, "cluster_state"); state != "ok" {
		return fmt.Errorf("for %s the state of the cluster is %q", s.Addr(), state)
	}
	return nil
}

// slotsUnknown returns an error if the server knows of slots without an owner. With
// "cluster-require-full-coverage no" it considers the cluster well all the same.
func (s *Server) slotsUnknown() error {
	info, err := s.text("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	if assigned := infoField(info, "cluster_slots_assigned"); assigned != strconv.Itoa(Slots) {
		return fmt.Errorf("%s knows who has %s slots of %d", s.Addr(), assigned, Slots)
	}
	return nil
}

// AwaitOK waits until all running nodes consider the cluster well, at most for Patience.
func (c *Cluster) AwaitOK() error {
	return await("the cluster is healthy", func() error {
		for _, n := range c.running() {
			if err := n.clusterTrouble(); err != nil {
				return err
			}
		}
		return nil
	})
}

// running returns the nodes that run and are not paused.
func (c *Cluster) running() []*Server {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Server) bool { return !n.Up() })
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() []string { return addrs(c.Nodes) }

// Close kills all nodes and removes their folders.
func (c *Cluster) Close() error { return closeAll(c.Nodes) }
