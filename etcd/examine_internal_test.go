package etcd

import (
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

func TestOldVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"3.3.27": true, "2.9.0": true, "3.4.0": false, "3.10.1": false, "4.0.0": false, "strange": false, "": false,
	} {
		if isTooOld(version) != want {
			t.Errorf("%q is old: %v", version, !want)
		}
	}
}

// newReport reports a cluster with these members, by their status.
func newReport(statuses ...*pb.StatusResponse) *clusterReport {
	c := &clusterReport{}
	var members []*pb.Member
	for i, status := range statuses {
		status.Header = &pb.ResponseHeader{MemberId: uint64(i + 1)}
		members = append(members, &pb.Member{ID: uint64(i + 1)})
		c.givenAddresses = append(c.givenAddresses, &memberReport{address: string(rune('a' + i)), status: status})
	}
	for _, rep := range c.givenAddresses {
		rep.members = members
	}
	return c
}

// What the servers at hand cannot report, because of their version, is tested with made-up reports.
func TestJudgeOtherVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second *pb.StatusResponse
		code, server  string
		severity      driver.Severity
	}{
		"old": {
			&pb.StatusResponse{Version: "3.3.1"}, &pb.StatusResponse{Version: "3.3.1"},
			"old-version", "a", driver.Critical,
		},
		"different": {
			&pb.StatusResponse{Version: "3.5.1"}, &pb.StatusResponse{Version: "3.6.0"},
			"different-versions", "", driver.Note,
		},
		"space": {&pb.StatusResponse{DbSize: 79, DbSizeQuota: 100}, &pb.StatusResponse{}, "", "", 0},
		"little space": {
			&pb.StatusResponse{DbSize: 80, DbSizeQuota: 100}, &pb.StatusResponse{},
			"database-nearly-full", "a", driver.Warning,
		},
		"perhaps little space": {
			&pb.StatusResponse{}, &pb.StatusResponse{DbSize: 2 << 30},
			"database-nearly-full", "b", driver.Note,
		},
		"two": {&pb.StatusResponse{}, &pb.StatusResponse{}, "too-few-members", "", driver.Warning},
		"full": {
			&pb.StatusResponse{Errors: []string{"memberID:2 alarm:NOSPACE "}}, &pb.StatusResponse{},
			"no-space", "b", driver.Critical,
		},
		"full, from 3.7": {
			&pb.StatusResponse{Errors: []string{"memberID:2  alarm:NOSPACE"}}, &pb.StatusResponse{},
			"no-space", "b", driver.Critical,
		},
		"cut off": {&pb.StatusResponse{}, &pb.StatusResponse{RaftTerm: 9}, "no-leader", "b", driver.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.first.Leader = 1
			if name != "cut off" {
				c.second.Leader = 1
			}
			report := newReport(c.first, c.second)
			var codes []string
			for _, f := range report.judge(report.namedMembers()) {
				if f.Code == c.code && f.Server == c.server && f.Severity == c.severity {
					return
				}
				codes = append(codes, f.Code)
			}
			if c.code != "" || len(codes) > 1 { // a cluster of two members is a finding by itself
				t.Errorf("found %q, want %v %q about %q", codes, c.severity, c.code, c.server)
			}
		})
	}
}

func TestExamineTellsOfConnectionsThatOthersCanHear(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"etcd://localhost:1": "", "etcds://h": "", "etcd://h": "note tls-off h:2379",
		"etcd://h1,[::1],h2": "note tls-off h1:2379, note tls-off h2:2379",
	} {
		e, err := openWith(url, func(string) string { return "" })
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		var got []string
		for _, f := range e.judgeConnections() {
			got = append(got, fmt.Sprint(f.Severity, " ", f.Code, " ", f.Server))
		}
		if err := e.Close(); err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: found %q, want %q; %v", url, got, want, err)
		}
		e.findWeakness = func(string) *exposure.Weakness { return &exposure.Weakness{Exposed: true} }
		if f := e.judgeConnections(); f[0].Severity != driver.Warning {
			t.Errorf("a password in clear is a %v", f[0].Severity)
		}
	}
}
