package redisserver

import "testing"

func TestSentinelsPromote(t *testing.T) {
	t.Parallel()
	r := ReplicatedForTest(t, 2, Config{Password: "secret"})
	s := SentinelsForTest(t, 3, r)
	if len(s.Addrs()) != 3 {
		t.Errorf("the addresses are %v", s.Addrs())
	}
	master, err := s.AwaitMaster(nil)
	noErr(t, err)
	if master != r.Master {
		t.Fatalf("the master is %s, want %s", master.Addr(), r.Master.Addr())
	}
	if _, err := s.masterOtherThan(master); err == nil {
		t.Fatal("there is another master from the start")
	}
	s.All[0].Kill() // a majority is left
	r.Master.Kill()
	promoted, err := s.AwaitMaster(r.Master)
	noErr(t, err)
	if promoted == r.Master {
		t.Fatal("the dead master is the new one")
	}
	expect(t, promoted, "OK", "SET", "a", "b")
	noErr(t, r.Master.Restart())
	noErr(t, r.Master.AwaitReplicaOf(promoted))
	expect(t, r.Master, "b", "GET", "a")
}
