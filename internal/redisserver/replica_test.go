package redisserver

import (
	"strings"
	"testing"
)

func TestReplicated(t *testing.T) {
	t.Parallel()
	r := ReplicatedForTest(t, 2, Config{Password: "secret"})
	expect(t, r.Master, "OK", "SET", "a", "b")
	expect(t, r.Master, int64(2), "WAIT", "2", "0")
	for _, replica := range r.Replicas {
		expect(t, replica, "b", "GET", "a")
		expectCode(t, replica, "READONLY", "SET", "a", "c")
	}
	noErr(t, r.Replicas[0].AwaitInfo("role", "slave"))
}

// A new replica has what the master had before.
func TestReplicaIsInSync(t *testing.T) {
	t.Parallel()
	master := ForTest(t, Config{})
	expect(t, master, "OK", "DEBUG", "POPULATE", "10000")
	replica := ReplicaForTest(t, master, Config{})
	expect(t, replica, int64(10000), "DBSIZE")
	if online := info(t, master, "slave0"); !strings.Contains(online, "state=online") {
		t.Errorf("the master sees %q", online)
	}
	master.Kill()
	noErr(t, master.Restart())
	noErr(t, replica.AwaitReplicaOf(master))
	expect(t, replica, int64(0), "DBSIZE")
}

func TestReplicaFailsWithItsMaster(t *testing.T) {
	t.Parallel()
	_, err := StartReplicated(1, Config{Lines: []string{"no-such-setting 1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") && !strings.Contains(err.Error(), "is missing") {
		t.Fatalf("the error is %v", err)
	}
}
