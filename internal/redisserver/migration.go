package redisserver

import (
	"fmt"
	"strconv"
)

// Migration moves a slot from one master to another, step by step. The source serves the keys that
// it still has, and answers ASK for all others.
type Migration struct {
	Slot     int
	From, To *Server
	// Replaces: keys that exist at the target are replaced, as redis-cli --cluster fix does.
	Replaces bool

	cluster *Cluster
}

// StartMigration begins to move a slot to another master. No key is moved yet.
func (c *Cluster) StartMigration(slot int, to *Server) (*Migration, error) {
	from, err := c.Owner(slot)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("redisserver: slot %d is at %s already: choose another master", slot, to.Addr())
	}
	n := strconv.Itoa(slot)
	if _, err := to.Command("CLUSTER", "SETSLOT", n, "IMPORTING", c.id(from)); err != nil {
		return nil, err
	}
	if _, err := from.Command("CLUSTER", "SETSLOT", n, "MIGRATING", c.id(to)); err != nil {
		return nil, err
	}
	return &Migration{Slot: slot, From: from, To: to, cluster: c}, nil
}

// Move moves those of the keys that exist.
func (m *Migration) Move(keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	limit := strconv.FormatInt(CommandLimit.Milliseconds(), 10)
	args := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(m.To.port), "", "0", limit}
	if m.To.password != "" {
		args = append(args, "AUTH", m.To.password)
	}
	if m.Replaces {
		args = append(args, "REPLACE")
	}
	_, err := m.From.Command(append(append(args, "KEYS"), keys...)...)
	return err
}

// Keys returns up to 100 keys that are still at the source.
func (m *Migration) Keys() ([]string, error) {
	reply, err := m.From.Command("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.Slot), "100")
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	keys := make([]string, len(list))
	for i, k := range list {
		keys[i] = fmt.Sprint(k)
	}
	return keys, nil
}

// Finish moves all keys that are still at the source, makes the target the owner, and waits until
// all nodes know it.
func (m *Migration) Finish() error {
	for {
		keys, err := m.Keys()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := m.Move(keys...); err != nil {
			return err
		}
	}
	for _, n := range []*Server{m.To, m.From} { // the target first, so that the slot always has an owner
		if _, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(m.Slot), "NODE", m.cluster.id(m.To)); err != nil {
			return err
		}
	}
	_, err := m.cluster.AwaitOwner(m.Slot, m.From)
	return err
}

// Seize assigns a slot to a master by force, on all nodes that run, as redis-cli --cluster fix does
// when the owner is gone. No key is moved.
func (c *Cluster) Seize(slot int, to *Server) error {
	for _, n := range c.running() {
		if _, err := n.Command("CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", c.id(to)); err != nil {
			return err
		}
	}
	if _, err := to.Command("CLUSTER", "BUMPEPOCH"); err != nil {
		return err
	}
	return await("all nodes know who has the slot", func() error {
		owner, err := c.agreedOwner(slot)
		if err == nil && owner != to {
			err = fmt.Errorf("the owner of slot %d is %s, want %s", slot, owner.Addr(), to.Addr())
		}
		return err
	})
}
