package redisserver

import (
	"slices"
	"strings"
	"testing"
)

func TestSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"123456789": 0x31C3, "foo": 12182, "{foo}:bar": 12182, "a{foo}": 12182,
		"foo{}": Slot("foo{}"), "{}foo": 9500} {
		if got := Slot(key); got != want {
			t.Errorf("the slot of %q is %d, want %d", key, got, want)
		}
	}
}

func TestSlotMovesStepByStep(t *testing.T) {
	t.Parallel()
	c := ClusterForTest(t, 3, 0, Config{Password: "secret"})
	slot := Slot("{a}")
	from, err := c.Owner(slot)
	noErr(t, err)
	at := slices.Index(c.Nodes, from)
	to, third := c.Nodes[(at+1)%3], c.Nodes[(at+2)%3]
	for _, key := range []string{"{a}1", "{a}2", "{a}3"} {
		expect(t, from, "OK", "SET", key, "x")
	}
	expectCode(t, to, "MOVED", "GET", "{a}1")

	m, err := c.StartMigration(slot, to)
	noErr(t, err)
	noErr(t, m.Move("{a}1", "{a}none"))
	expectCode(t, from, "ASK", "GET", "{a}1")
	expect(t, from, "x", "GET", "{a}2")
	expectCode(t, to, "MOVED", "GET", "{a}2")
	keys, err := m.Keys()
	noErr(t, err)
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"{a}2", "{a}3"}) {
		t.Fatalf("the keys at the source are %v", keys)
	}
	noErr(t, m.Finish())
	expectCode(t, from, "MOVED", "GET", "{a}2")
	expect(t, to, "x", "GET", "{a}2")
	if _, err := third.Command("GET", "{a}2"); err == nil || !strings.Contains(err.Error(), to.Addr()) {
		t.Errorf("the third node does not know the new owner %s: %v", to.Addr(), err)
	}
	if owner, err := c.Owner(slot); err != nil || owner != to {
		t.Fatalf("the owner is %v, %v", owner, err)
	}
	if _, err := c.StartMigration(slot, to); err == nil || !strings.Contains(err.Error(), "choose another") {
		t.Fatalf("a slot moves to where it is: %v", err)
	}
}

func TestClusterPromotes(t *testing.T) {
	t.Parallel()
	c := ClusterForTest(t, 3, 1, Config{Lines: []string{"cluster-node-timeout 1500"}})
	if len(c.Addrs()) != 6 {
		t.Errorf("the addresses are %v", c.Addrs())
	}
	list, err := c.Nodes[0].Command("CONFIG", "GET", "cluster-node-timeout")
	if err != nil || fields(list)["cluster-node-timeout"] != "1500" {
		t.Errorf("the line of the config is lost: %v, %v", list, err)
	}
	slot := Slot("a")
	master, err := c.Owner(slot)
	noErr(t, err)
	replicas, err := c.ReplicasOf(master)
	noErr(t, err)
	if len(replicas) != 1 || replicas[0].AwaitReplicaOf(master) != nil {
		t.Fatalf("the replicas of %s are %v", master.Addr(), replicas)
	}
	expect(t, master, "OK", "SET", "a", "b")
	expect(t, master, int64(1), "WAIT", "1", "0")
	noErr(t, master.Pause())
	promoted, err := c.AwaitOwner(slot, master)
	noErr(t, err)
	if promoted != replicas[0] {
		t.Fatalf("the owner is %s, want %s", promoted.Addr(), replicas[0].Addr())
	}
	noErr(t, c.AwaitOK())
	expect(t, promoted, "b", "GET", "a")
	noErr(t, master.Resume())
	noErr(t, master.AwaitReplicaOf(promoted))
}

func TestEmptyCluster(t *testing.T) {
	t.Parallel()
	if _, err := StartCluster(0, 1, Config{}); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Fatalf("the error is %v", err)
	}
}
