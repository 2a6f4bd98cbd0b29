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

// findings collects what an examination has found.
type findings []driver.Finding

func (f *findings) add(s driver.Severity, code, server, text, fix string) {
	*f = append(*f, driver.Finding{Severity: s, Code: code, Server: server, Text: text, Fix: fix})
}

// judge finds what endangers the promises.
func (c *clusterReport) judge(members []*namedMember) findings {
	var f findings
	c.judgeClusters(&f)
	c.judgeLeader(&f, members)
	c.judgeUnreadable(&f)
	judgeMemberCount(&f, members)
	judgeVersions(&f, members)
	c.judgeAlarms(&f, members)
	c.judgeSpace(&f, members)
	c.judgeAddresses(&f)
	return f
}

// judgeClusters finds addresses that belong to different clusters.
func (c *clusterReport) judgeClusters(f *findings) {
	clusters := map[uint64][]string{}
	for _, rep := range c.givenAddresses {
		if rep.err == nil {
			id := rep.status.Header.ClusterId
			clusters[id] = append(clusters[id], rep.address)
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
		fmt.Sprintf("the addresses lead to clusters that know nothing of each other: %s. Two may hold a lock, "+
			"and tokens mean nothing", strings.Join(groups, "; ")),
		"name the members of one cluster only")
}

// judgeLeader finds a cluster without a leader, and members that know of no leader.
func (c *clusterReport) judgeLeader(f *findings, members []*namedMember) {
	if c.leader() == 0 {
		f.add(driver.Critical, "no-leader", "",
			"the members that answer know of no leader, because fewer than a majority run, "+
				"or they cannot reach one another: no lock can be granted or renewed",
			"check the members that do not answer, and the network between members")
		return
	}
	for _, named := range members {
		if named.server.Err == nil && named.report.status.Leader == 0 {
			f.add(driver.Warning, "no-leader", named.server.Name,
				"it knows of no leader, but others do, so it cannot reach them: "+
					"requests of programs that are connected to it fail until they use another member",
				"check the network between it and the other members")
		}
	}
}

// judgeUnreadable finds servers that do not show their status to this user. From version 3.6 on only the role root may
// see it.
func (c *clusterReport) judgeUnreadable(f *findings) {
	if slices.ContainsFunc(c.answered(), func(rep *memberReport) bool { return rep.isHidden }) {
		f.add(driver.Note, "status-hidden", "",
			"the servers do not show this user their state, "+
				"so alarms, full databases and old versions were not checked",
			"examine the cluster as a user with the role root, too")
	}
}

// judgeMemberCount finds numbers of members that tolerate fewer failures than they could.
func judgeMemberCount(f *findings, members []*namedMember) {
	voters := 0
	for _, named := range members {
		if !named.member.IsLearner {
			voters++
		}
	}
	switch {
	case voters == 1:
		f.add(driver.Note, "too-few-members", "",
			"the cluster has one member: while it is down, no lock can be granted or renewed. It forgets nothing",
			"nothing, or three members")
	case voters == 2:
		f.add(driver.Warning, "too-few-members", "",
			"the cluster has two members, and needs both: when either is down, no lock can be granted or renewed, "+
				"which is worse than with one. It forgets nothing",
			"one member more, or one less")
	case voters%2 == 0:
		f.add(driver.Note, "even-number", "",
			fmt.Sprintf("the cluster has %d members, and tolerates the failure of %d: "+
				"no more than with one member less", voters, voters-voters/2-1),
			"one member more or less")
	}
}

// oldestVersion is the oldest version that the engine supports.
var oldestVersion = [2]int{3, 4}

// judgeVersions finds versions that are too old, and members with different versions.
func judgeVersions(f *findings, members []*namedMember) {
	seen := map[string]bool{}
	for _, named := range members {
		if named.server.Err != nil {
			continue
		}
		seen[named.server.Version] = true
		if isTooOld(named.server.Version) {
			f.add(driver.Critical, "old-version", named.server.Name,
				fmt.Sprintf("it has version %s, and this engine is for %d.%d and later",
					named.server.Version, oldestVersion[0], oldestVersion[1]),
				fmt.Sprintf("update it to %d.%d or later", oldestVersion[0], oldestVersion[1]))
		}
	}
	if len(seen) > 1 {
		var versions []string
		for v := range seen {
			versions = append(versions, v)
		}
		slices.Sort(versions)
		f.add(driver.Note, "different-versions", "",
			"members have different versions: "+strings.Join(versions, ", "),
			"nothing while they are being updated; else the same on all")
	}
}

// isTooOld reports whether a version is not supported any more. A version that cannot be parsed is not too old.
func isTooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && cmp.Or(cmp.Compare(a, oldestVersion[0]), cmp.Compare(b, oldestVersion[1])) < 0
}

// Alarms, as servers name them.
const noSpace, corrupt = "NOSPACE", "CORRUPT"

// isAlarmRaised reports whether any server reports an alarm of a member. From 3.7 on there may be two spaces between
// the words, depending on how the server was built.
func (c *clusterReport) isAlarmRaised(m *pb.Member, alarm string) bool {
	words := []string{fmt.Sprintf("memberID:%d", m.ID), "alarm:" + alarm}
	for _, rep := range c.answered() {
		for _, text := range rep.status.Errors {
			if slices.Equal(strings.Fields(text), words) {
				return true
			}
		}
	}
	return false
}

// judgeAlarms finds alarms. Each member knows those of all. See https://etcd.io/docs/latest/op-guide/maintenance/.
func (c *clusterReport) judgeAlarms(f *findings, members []*namedMember) {
	for _, named := range members {
		if c.isAlarmRaised(named.member, noSpace) {
			f.add(driver.Critical, "no-space", named.server.Name,
				"its database has reached its quota, and the alarm NOSPACE is raised: no lock can be granted. "+
					"Leases that are held are renewed, and can be released",
				"compact and defragment the database, or raise --quota-backend-bytes; then etcdctl alarm disarm")
		}
		if c.isAlarmRaised(named.member, corrupt) {
			f.add(driver.Critical, "corrupt", named.server.Name,
				"the alarm CORRUPT is raised: its data differs from that of the others, "+
					"and the cluster refuses all requests. Two may have held a lock",
				"replace the member that is damaged, as etcd's documentation of data corruption says; "+
					"then etcdctl alarm disarm")
		}
	}
}

const (
	// usualQuota is etcd's default quota, in bytes.
	usualQuota = 2 << 30
	// nearlyFull is the percentage of the quota from which on a database counts as nearly full.
	nearlyFull = 80
)

// judgeSpace finds databases near their quota that have not reached it. Servers before 3.6 do not report the quota.
func (c *clusterReport) judgeSpace(f *findings, members []*namedMember) {
	for _, named := range members {
		if named.server.Err != nil || c.isAlarmRaised(named.member, noSpace) {
			continue
		}
		size, quota := named.report.status.DbSize, named.report.status.DbSizeQuota
		severity, uncertain := driver.Warning, ""
		if quota <= 0 {
			severity, quota = driver.Note, usualQuota
			uncertain = ", unless it is configured otherwise, which the server does not report"
		}
		if size < quota/100*nearlyFull {
			continue
		}
		f.add(severity, "database-nearly-full", named.server.Name,
			fmt.Sprintf("its database has %d of the %d MB of its quota%s: when it is full, no lock can be granted. "+
				"%d MB of it are in use", size>>20, quota>>20, uncertain, named.report.status.DbSizeInUse>>20),
			"compact and defragment the database, or raise --quota-backend-bytes")
	}
}

// judgeAddresses finds addresses that do not answer and belong to no known member. The core reports members that do not
// answer.
func (c *clusterReport) judgeAddresses(f *findings) {
	members := c.memberList()
	for _, rep := range c.givenAddresses {
		known := false
		for _, m := range members {
			known = known || c.reportOf(m) == rep
		}
		if rep.err != nil && !known {
			f.add(driver.Warning, "address-silent", "",
				fmt.Sprintf("no etcd member answers at the address %s (%s), and no known member has this address: "+
					"programs that try it first lose time", rep.address, rep.err),
				"correct the address, or remove it")
		}
	}
}
