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

// sight is all that was seen of a cluster.
type sight struct {
	given []*visit // of the addresses that the engine was given
	other []*visit // of members that these do not lead to, at the addresses that they advertise
}

// visits are all.
func (s *sight) visits() []*visit { return slices.Concat(s.given, s.other) }

func (s *sight) close() {
	for _, v := range s.visits() {
		v.close()
	}
}

// answered are the visits of servers that have answered, the best informed first: those who know a leader, and of these the one who knows most.
func (s *sight) answered() []*visit {
	all := slices.DeleteFunc(s.visits(), func(v *visit) bool { return v.err != nil })
	slices.SortStableFunc(all, func(a, b *visit) int {
		return cmp.Or(cmp.Compare(min(b.status.Leader, 1), min(a.status.Leader, 1)), cmp.Compare(b.status.RaftTerm, a.status.RaftTerm),
			cmp.Compare(b.status.RaftIndex, a.status.RaftIndex))
	})
	return all
}

// list are the members of the cluster, as the best informed knows them, in an order that stays the same; nil if nobody does.
func (s *sight) list() []*pb.Member {
	all := s.answered()
	if len(all) == 0 {
		return nil
	}
	members := slices.Clone(all[0].members)
	slices.SortFunc(members, func(a, b *pb.Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return members
}

// leader is the number of the member that leads, and 0 if none does, as far as can be seen.
func (s *sight) leader() uint64 {
	all := s.answered()
	if len(all) == 0 {
		return 0
	}
	return all[0].status.Leader
}

// of returns what was seen of a member: that of a server that says that it is this one, or else of an address that is the member's own; nil if nothing was.
func (s *sight) of(m *pb.Member) *visit {
	all := s.visits()
	for _, v := range all {
		if v.err == nil && v.status.Header.MemberId == m.ID {
			return v
		}
	}
	for _, v := range all {
		if v.err != nil && advertises(m, v.address) {
			return v
		}
	}
	return nil
}

func advertises(m *pb.Member, address string) bool {
	return slices.ContainsFunc(m.ClientURLs, func(u string) bool { return hostOf(u) == address })
}

// unseen are the addresses of members that were not seen, in the form of another one: where that stands for TLS, nobody is told a password without it.
func (s *sight) unseen(form string) (endpoints []string) {
	scheme, _, found := strings.Cut(form, "://")
	if !found {
		scheme = ""
	} else {
		scheme += "://"
	}
	for _, m := range s.list() {
		if s.of(m) == nil && len(m.ClientURLs) > 0 {
			endpoints = append(endpoints, scheme+hostOf(m.ClientURLs[0]))
		}
	}
	return endpoints
}

// hostOf is the host:port of an address that may have a scheme.
func hostOf(endpoint string) string {
	_, host, found := strings.Cut(endpoint, "://")
	if !found {
		return endpoint
	}
	return host
}

// errNotStarted is why nothing is known of a member that was added to the cluster, and has never been there.
var errNotStarted = errors.New("it was added to the cluster, and has not been started yet")

// named is a member with what was seen of it.
type named struct {
	member *pb.Member
	visit  *visit // nil if it was never started
	place  driver.Place
}

// places are the members as places, in an order that stays the same.
func (s *sight) places() (all []*named) {
	leader := s.leader()
	taken := map[string]bool{}
	for _, m := range s.list() {
		n := &named{member: m, visit: s.of(m)}
		n.place = driver.Place{Name: fmt.Sprintf("member %x", m.ID), Role: "follower", Uptime: -1, RoundTrip: -1, Err: errNotStarted}
		if v := n.visit; v != nil {
			n.place.Name, n.place.RoundTrip, n.place.Err = v.address, v.trip, v.err
			if v.err == nil {
				n.place.Version = v.status.Version
			}
		}
		if taken[n.place.Name] { // they advertise the same address, which leads to one of them
			n.place.Name = fmt.Sprintf("%s (%x)", cmp.Or(m.Name, "member"), m.ID)
		}
		taken[n.place.Name] = true
		switch {
		case m.IsLearner:
			n.place.Role = "learner"
		case m.ID == leader:
			n.place.Role = "leader"
		case leader == someLeader:
			n.place.Role = ""
		}
		// Where somebody else leads, the others do without a member that says nothing.
		n.place.Votes = !m.IsLearner && (n.place.Err == nil || leader == 0 || leader == m.ID || leader == someLeader)
		all = append(all, n)
	}
	return all
}
