package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// clusterReport is all that an examination has found out about a cluster.
type clusterReport struct {
	givenAddresses []*memberReport // the addresses that the engine was given
	otherMembers   []*memberReport // members that these do not lead to, at the addresses that they advertise
}

// reports returns all reports.
func (c *clusterReport) reports() []*memberReport {
	return slices.Concat(c.givenAddresses, c.otherMembers)
}

func (c *clusterReport) close() {
	for _, rep := range c.reports() {
		rep.close()
	}
}

// answered returns the reports of servers that have answered, the best informed first: those that know a leader, by
// their raft term and index.
func (c *clusterReport) answered() []*memberReport {
	reports := slices.DeleteFunc(c.reports(), func(rep *memberReport) bool { return rep.err != nil })
	slices.SortStableFunc(reports, func(a, b *memberReport) int {
		return cmp.Or(
			cmp.Compare(min(b.status.Leader, 1), min(a.status.Leader, 1)),
			cmp.Compare(b.status.RaftTerm, a.status.RaftTerm),
			cmp.Compare(b.status.RaftIndex, a.status.RaftIndex),
		)
	})
	return reports
}

// memberList returns the members of the cluster in a stable order, as the best informed server knows them, or nil if no
// server answered.
func (c *clusterReport) memberList() []*pb.Member {
	reports := c.answered()
	if len(reports) == 0 {
		return nil
	}
	members := slices.Clone(reports[0].members)
	slices.SortFunc(members, func(a, b *pb.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return members
}

// leader returns the ID of the etcd leader, or 0 if there is none as far as the reports show.
func (c *clusterReport) leader() uint64 {
	reports := c.answered()
	if len(reports) == 0 {
		return 0
	}
	return reports[0].status.Leader
}

// reportOf returns the report about a member: that of the server with its ID, or else that of a silent address which
// the member advertises. It returns nil if there is neither.
func (c *clusterReport) reportOf(m *pb.Member) *memberReport {
	reports := c.reports()
	for _, rep := range reports {
		if rep.err == nil && rep.status.Header.MemberId == m.ID {
			return rep
		}
	}
	for _, rep := range reports {
		if rep.err != nil && advertises(m, rep.address) {
			return rep
		}
	}
	return nil
}

func advertises(m *pb.Member, address string) bool {
	return slices.ContainsFunc(m.ClientURLs, func(u string) bool { return hostOf(u) == address })
}

// unreportedAddresses returns the addresses of members without a report, with the scheme of the given endpoint: if that
// stands for TLS, no password is sent without it.
func (c *clusterReport) unreportedAddresses(form string) (endpoints []string) {
	scheme, _, found := strings.Cut(form, "://")
	if !found {
		scheme = ""
	} else {
		scheme += "://"
	}
	for _, m := range c.memberList() {
		if c.reportOf(m) == nil && len(m.ClientURLs) > 0 {
			endpoints = append(endpoints, scheme+hostOf(m.ClientURLs[0]))
		}
	}
	return endpoints
}

// hostOf returns the host:port of an address that may have a scheme.
func hostOf(endpoint string) string {
	_, host, found := strings.Cut(endpoint, "://")
	if !found {
		return endpoint
	}
	return host
}

// errNotStarted says why nothing is known of a member that was added to the cluster and has never run.
var errNotStarted = errors.New("it was added to the cluster, and has not been started yet")

// namedMember is a member with the report about it.
type namedMember struct {
	member *pb.Member
	report *memberReport // nil if it was never started
	server driver.Server
}

// namedMembers returns the members as servers of the examination, in a stable order.
func (c *clusterReport) namedMembers() (all []*namedMember) {
	leader := c.leader()
	taken := map[string]bool{}
	for _, m := range c.memberList() {
		named := &namedMember{member: m, report: c.reportOf(m)}
		named.server = driver.Server{
			Name: fmt.Sprintf("member %x", m.ID), Role: "follower", Uptime: -1, RoundTrip: -1, Err: errNotStarted,
		}
		if rep := named.report; rep != nil {
			named.server.Name, named.server.RoundTrip, named.server.Err = rep.address, rep.roundTrip, rep.err
			if rep.err == nil {
				named.server.Version = rep.status.Version
			}
		}
		if taken[named.server.Name] { // two members advertise the same address, which leads to one of them
			named.server.Name = fmt.Sprintf("%s (%x)", cmp.Or(m.Name, "member"), m.ID)
		}
		taken[named.server.Name] = true
		switch {
		case m.IsLearner:
			named.server.Role = "learner"
		case m.ID == leader:
			named.server.Role = "leader"
		case leader == unknownLeader:
			named.server.Role = ""
		}
		// With another leader, the cluster does without a silent member.
		needed := leader == 0 || leader == m.ID || leader == unknownLeader
		named.server.Votes = !m.IsLearner && (named.server.Err == nil || needed)
		all = append(all, named)
	}
	return all
}
