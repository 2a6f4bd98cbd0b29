package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

func TestOldVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"3.3.27": true, "2.9.0": true, "3.4.0": false, "3.10.1": false, "4.0.0": false, "strange": false, "": false} {
		if old(version) != want {
			t.Errorf("%q is old: %v", version, !want)
		}
	}
}

// seen is a cluster of members, one of which leads.
func seen(statuses ...*pb.StatusResponse) *sight {
	s := &sight{}
	var members []*pb.Member
	for i, status := range statuses {
		status.Header = &pb.ResponseHeader{MemberId: uint64(i + 1)}
		members = append(members, &pb.Member{ID: uint64(i + 1)})
		s.given = append(s.given, &visit{address: string(rune('a' + i)), status: status})
	}
	for _, v := range s.given {
		v.members = members
	}
	return s
}

// What real servers of the version that is at hand do not tell is judged by what they would.
func TestJudgeOfOtherVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second *pb.StatusResponse
		code, place   string
		severity      driver.Severity
	}{
		"old":            {&pb.StatusResponse{Version: "3.3.1"}, &pb.StatusResponse{Version: "3.3.1"}, "old-version", "a", driver.Critical},
		"different":      {&pb.StatusResponse{Version: "3.5.1"}, &pb.StatusResponse{Version: "3.6.0"}, "different-versions", "", driver.Note},
		"room":           {&pb.StatusResponse{DbSize: 79, DbSizeQuota: 100}, &pb.StatusResponse{}, "", "", 0},
		"little room":    {&pb.StatusResponse{DbSize: 80, DbSizeQuota: 100}, &pb.StatusResponse{}, "database-nearly-full", "a", driver.Warning},
		"perhaps little": {&pb.StatusResponse{}, &pb.StatusResponse{DbSize: 2 << 30}, "database-nearly-full", "b", driver.Note},
		"two":            {&pb.StatusResponse{}, &pb.StatusResponse{}, "too-few-members", "", driver.Warning},
		"cut off":        {&pb.StatusResponse{}, &pb.StatusResponse{RaftTerm: 9}, "no-leader", "b", driver.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.first.Leader = 1
			if name != "cut off" {
				c.second.Leader = 1
			}
			s := seen(c.first, c.second)
			var codes []string
			for _, f := range s.judge(s.places()) {
				if f.Code == c.code && f.Place == c.place && f.Severity == c.severity {
					return
				}
				codes = append(codes, f.Code)
			}
			if c.code != "" || len(codes) > 1 { // two members are worth a word by themselves
				t.Errorf("found %q, want %v %q about %q", codes, c.severity, c.code, c.place)
			}
		})
	}
}
