package health

import (
	"slices"
	"testing"
	"time"
)

func TestReplicasAreRead(t *testing.T) {
	t.Parallel()
	got := Report{Info: map[string]string{
		"slave0": "ip=10.0.0.2,port=6379,state=online,offset=7,lag=1",
		"slave1": "ip=::1,port=7000,state=wait_bgsave,offset=0",
		"slave3": "ip=no,port=1",
	}}.Replicas()
	want := []Replica{{"10.0.0.2:6379", "online", time.Second}, {"[::1]:7000", "wait_bgsave", -time.Second}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
