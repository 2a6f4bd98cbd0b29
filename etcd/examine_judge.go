package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// findings are what was found.
type findings []driver.Finding

func (f *findings) add(s driver.Severity, code, place, text, mend string) {
	*f = append(*f, driver.Finding{Severity: s, Code: code, Place: place, Text: text, Mend: mend})
}

// judge finds what endangers promises in what was seen.
func (s *sight) judge(places []*named) findings {
	var f findings
	s.judgeClusters(&f)
	s.judgeLeader(&f, places)
	s.judgeHidden(&f)
	judgeNumber(&f, places)
	judgeVersions(&f, places)
	s.judgeAlarms(&f, places)
	s.judgeRoom(&f, places)
	s.judgeAddresses(&f)
	return f
}

// judgeClusters finds addresses that lead to clusters that do not know each other.
func (s *sight) judgeClusters(f *findings) {
	clusters := map[uint64][]string{}
	for _, v := range s.given {
		if v.err == nil {
			id := v.status.Header.ClusterId
			clusters[id] = append(clusters[id], v.address)
		}
	}
	if len(clusters) < 2 {
		return
	}
	var groups []string
	for _, addresses := range clusters {
		groups = append(groups, strings.Join(addresses, " and "))
	}
	slices.Sort(groups)
	f.add(driver.Critical, "different-clusters", "",
		fmt.Sprintf("the addresses lead to clusters that know nothing of each other: %s. Two may hold a lock, and tokens mean nothing", strings.Join(groups, "; ")),
		"name the members of one cluster only")
}

// judgeLeader finds that nobody leads, or that a member knows of nobody who does.
func (s *sight) judgeLeader(f *findings, places []*named) {
	if s.leader() == 0 {
		f.add(driver.Critical, "no-leader", "",
			"the members that answer know of no leader, as is so when a majority does not run, or cannot reach one another: no lock can be had or renewed",
			"see to the members that do not answer, and to the network between members")
		return
	}
	for _, n := range places {
		if n.place.Err == nil && n.visit.status.Leader == 0 {
			f.add(driver.Warning, "no-leader", n.place.Name,
				"it knows of no leader, where others do, so it cannot reach them: requests of programs that are connected to it fail until they turn to another member",
				"see to the network between it and the other members")
		}
	}
}

// judgeHidden finds that servers do not show the user what they are, as those of 3.6 do to the role root alone.
func (s *sight) judgeHidden(f *findings) {
	if slices.ContainsFunc(s.answered(), func(v *visit) bool { return v.hidden }) {
		f.add(driver.Note, "status-hidden", "",
			"the servers do not show this user their state, so nobody has looked for alarms, full databases and old versions",
			"examine the cluster as a user with the role root, too")
	}
}

// judgeNumber finds that the cluster bears fewer failures than it might.
func judgeNumber(f *findings, places []*named) {
	voters := 0
	for _, n := range places {
		if !n.member.IsLearner {
			voters++
		}
	}
	switch {
	case voters == 1:
		f.add(driver.Note, "too-few-members", "",
			"the cluster has one member: while it is down, no lock can be had or renewed. It forgets nothing", "nothing, or three members")
	case voters == 2:
		f.add(driver.Warning, "too-few-members", "",
			"the cluster has two members, and needs both: when either is down, no lock can be had or renewed, which is worse than with one. It forgets nothing",
			"one member more, or one less")
	case voters%2 == 0:
		f.add(driver.Note, "even-number", "",
			fmt.Sprintf("the cluster has %d members, and bears the failure of %d: no more than with one member less", voters, voters-voters/2-1),
			"one member more or less")
	}
}

// oldest is the oldest version that the engine is for.
var oldest = [2]int{3, 4}

// judgeVersions finds versions that are too old, and different ones.
func judgeVersions(f *findings, places []*named) {
	seen := map[string]bool{}
	for _, n := range places {
		if n.place.Err != nil {
			continue
		}
		seen[n.place.Version] = true
		if old(n.place.Version) {
			f.add(driver.Critical, "old-version", n.place.Name,
				fmt.Sprintf("it has version %s, and this engine is for %d.%d and later", n.place.Version, oldest[0], oldest[1]),
				fmt.Sprintf("update it to %d.%d or later", oldest[0], oldest[1]))
		}
	}
	if len(seen) > 1 {
		var versions []string
		for v := range seen {
			versions = append(versions, v)
		}
		slices.Sort(versions)
		f.add(driver.Note, "different-versions", "", "members have different versions: "+strings.Join(versions, ", "), "nothing while they are being updated; else the same on all")
	}
}

// old reports whether a version is too old. One that cannot be read is not.
func old(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && cmp.Or(cmp.Compare(a, oldest[0]), cmp.Compare(b, oldest[1])) < 0
}

// Alarms, as servers tell of them.
const noSpace, corrupt = "NOSPACE", "CORRUPT"

// raised reports whether any server tells of an alarm of a member. From 3.7 on there may be two spaces between words, which depends on how the server was
// built.
func (s *sight) raised(m *pb.Member, alarm string) bool {
	words := []string{fmt.Sprintf("memberID:%d", m.ID), "alarm:" + alarm}
	for _, v := range s.answered() {
		for _, told := range v.status.Errors {
			if slices.Equal(strings.Fields(told), words) {
				return true
			}
		}
	}
	return false
}

// judgeAlarms finds alarms. Each member knows those of all. See https://etcd.io/docs/latest/op-guide/maintenance/.
func (s *sight) judgeAlarms(f *findings, places []*named) {
	for _, n := range places {
		if s.raised(n.member, noSpace) {
			f.add(driver.Critical, "no-space", n.place.Name,
				"its database has reached its quota, and the alarm NOSPACE is raised: no lock can be had. What is held is renewed and can be released",
				"compact and defragment the database, or raise --quota-backend-bytes; then etcdctl alarm disarm")
		}
		if s.raised(n.member, corrupt) {
			f.add(driver.Critical, "corrupt", n.place.Name,
				"the alarm CORRUPT is raised: its data differs from that of the others, and the cluster refuses all requests. Two may have held a lock",
				"replace the member that is damaged, as etcd's documentation of data corruption says; then etcdctl alarm disarm")
		}
	}
}

const (
	// usualQuota is the quota of a server that was told of none, in bytes.
	usualQuota = 2 << 30
	// nearlyFull is how many percent of the quota are nearly all of it.
	nearlyFull = 80
)

// judgeRoom finds databases near their quota, other than those that have reached it. Servers before 3.6 do not tell it.
func (s *sight) judgeRoom(f *findings, places []*named) {
	for _, n := range places {
		if n.place.Err != nil || s.raised(n.member, noSpace) {
			continue
		}
		size, quota := n.visit.status.DbSize, n.visit.status.DbSizeQuota
		severity, doubt := driver.Warning, ""
		if quota <= 0 {
			severity, quota, doubt = driver.Note, usualQuota, ", if that has not been set otherwise, which the server does not tell"
		}
		if size < quota/100*nearlyFull {
			continue
		}
		f.add(severity, "database-nearly-full", n.place.Name,
			fmt.Sprintf("its database has %d of the %d MB of its quota%s: when it is full, no lock can be had. %d MB of it are in use",
				size>>20, quota>>20, doubt, n.visit.status.DbSizeInUse>>20),
			"compact and defragment the database, or raise --quota-backend-bytes")
	}
}

// judgeAddresses finds addresses that say nothing, and are not those of a member, of which the core tells.
func (s *sight) judgeAddresses(f *findings) {
	members := s.list()
	for _, v := range s.given {
		known := false
		for _, m := range members {
			known = known || s.of(m) == v
		}
		if v.err != nil && !known {
			f.add(driver.Warning, "address-silent", "",
				fmt.Sprintf("nothing is to be had at the address %s (%s), by which no member is known: programs that try it first lose time", v.address, v.err),
				"correct the address, or leave it away")
		}
	}
}
