package zookeeper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// survey is what was seen of all servers.
type survey struct {
	visits []*visit
	voters int           // how many servers of the ensemble vote; 0 if not known
	asked  time.Duration // the timeout of sessions that was asked for
	given  time.Duration // and the one that was given; 0 if there is no session
	rights []driver.Finding
	plain  bool // connections are those of package net, and nobody else's
	user   bool // a password is sent on them
}

// findings are what was found so far.
type findings struct{ all []driver.Finding }

func (f *findings) add(s driver.Severity, code, place, text, mend string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Place: place, Text: text, Mend: mend})
}

// judge finds what endangers promises.
func (s *survey) judge() []driver.Finding {
	f := &findings{}
	s.quorum(f)
	s.together(f)
	s.number(f)
	s.timeouts(f)
	s.versions(f)
	s.wires(f)
	for _, v := range s.visits {
		v.judge(f)
	}
	return append(f.all, s.rights...)
}

// wires finds connections that others can listen to.
func (s *survey) wires(f *findings) {
	for _, v := range s.visits {
		weak := exposure.Weak(v.place.Name, nil, s.user)
		if !s.plain || weak == nil {
			continue
		}
		severity := driver.Note
		if weak.Exposed {
			severity = driver.Warning
		}
		f.add(severity, weak.Code, v.place.Name, weak.Text, "secureClientPort in zoo.cfg, and zookeepers:// in the URL")
	}
}

// quorum finds that no server has a leader.
func (s *survey) quorum(f *findings) {
	without := 0
	for _, v := range s.visits {
		if v.serves {
			return
		}
		if v.without {
			without++
		}
	}
	if without > 0 {
		f.add(driver.Critical, "no-leader", "",
			fmt.Sprintf("%d of %d servers answer and serve nobody, as fewer than a majority of the ensemble have found each other: no lock can be had or "+
				"renewed", without, len(s.visits)),
			"start the other servers, and look whether they reach each other on their ports for followers and for elections")
	}
}

// together finds servers that know nothing of each other. One that is alone keeps data of its own; if the others are at another transaction, they are
// no further names of it.
func (s *survey) together(f *findings) {
	for _, v := range s.visits {
		apart := func(other *visit) bool { return other.serves && (other.last < v.first || v.last < other.first) }
		if v.place.Role == "standalone" && slices.ContainsFunc(s.visits, apart) {
			f.add(driver.Critical, "different-clusters", v.place.Name,
				"it is alone, and other servers that are named with it serve clients, too: clients of one and of another may hold a lock at the same time",
				"name the servers of one ensemble only; if they were meant to be one, give each the lines server.1 to server.N in zoo.cfg, and a myid of its own")
		}
	}
}

// number finds ensembles that can do without too few of their servers, and clients that do not know all of them.
func (s *survey) number(f *findings) {
	switch {
	case s.voters == 0:
	case s.voters == 1:
		f.add(driver.Note, "too-few-members", "",
			"the ensemble has one server: while it is down, no lock can be had or renewed. It forgets nothing that is on its disk", "nothing, or three servers")
	case s.voters == 2:
		f.add(driver.Warning, "too-few-members", "",
			"the ensemble has two servers, and needs both: when either is down, no lock can be had or renewed, which is worse than with one", "one server more, or one less")
	case s.voters%2 == 0:
		f.add(driver.Note, "even-number", "",
			fmt.Sprintf("the ensemble has %d servers that vote, and bears no more failures than one of %d", s.voters, s.voters-1),
			"take one more, or one less")
	}
	if s.voters > len(s.visits) {
		f.add(driver.Note, "servers-not-named", "",
			fmt.Sprintf("the ensemble has %d servers, of which %d are named: when those are down, this program can do nothing, although a majority may be left. If a "+
				"name stands for all of them, all is well, but they were not looked at", s.voters, len(s.visits)),
			"name all of them in the URL")
	}
}

// timeouts finds sessions that last for another time than was wanted, or may do so later.
func (s *survey) timeouts(f *findings) {
	switch {
	case s.given == 0 || s.given == s.asked:
	case s.given < s.asked:
		f.add(driver.Note, "session-timeout", "",
			fmt.Sprintf("a session timeout of %v was asked for, and the server gives at most %v: no lease is longer than %v", s.asked, s.given, longest(s.given)),
			"ask for as much, or set maxSessionTimeout (20 ticks by default) in zoo.cfg")
	default:
		f.add(driver.Note, "session-timeout", "",
			fmt.Sprintf("a session timeout of %v was asked for, and the server gives at least %v: what a dead process has held is free only after that", s.asked, s.given),
			"ask for as much, or set minSessionTimeout (2 ticks by default) in zoo.cfg")
	}
	least, most := s.limits()
	if least < most && least < max(s.asked, s.given) {
		f.add(driver.Critical, "session-limits-differ", "",
			fmt.Sprintf("one server gives sessions at most %v, and another one %v: when the session of a client goes on at the first one and is cut off there, it ends "+
				"before its leases, and two may hold a lock for up to a ttl; longer leases cannot be had or renewed there", least, most),
			"set the same maxSessionTimeout, or the same tickTime, on all servers")
	}
}

// limits returns the least and the most of the longest timeouts that servers give.
func (s *survey) limits() (least, most time.Duration) {
	for _, v := range s.visits {
		if v.longest > 0 && (least == 0 || v.longest < least) {
			least = v.longest
		}
		most = max(most, v.longest)
	}
	return least, most
}

func (s *survey) versions(f *findings) {
	var all []string
	for _, v := range s.visits {
		if v.place.Version != "" {
			all = append(all, v.place.Version)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 1 {
		f.add(driver.Note, "different-versions", "", "the servers have different versions: "+strings.Join(all, ", "), "nothing during an update; else update the older ones")
	}
}

// oldest is the oldest version that is tested: 3.6.
var oldest = [2]int{3, 6}

// judge finds what endangers promises in what was seen of one server.
func (v *visit) judge(f *findings) {
	name := v.place.Name
	if v.place.Version != "" && older(v.place.Version, oldest) {
		f.add(driver.Warning, "old-version", name,
			fmt.Sprintf("it has version %s, with which locks have not been tested", v.place.Version),
			fmt.Sprintf("update it to %d.%d or later", oldest[0], oldest[1]))
	}
	if v.flushes > 0 && v.syncs == 0 {
		f.add(driver.Warning, "sync-off", name,
			"it does not wait for the disk (forceSync=no): when its machine goes down, it may forget what it has said. If a majority forgets, as when the power "+
				"fails, two may hold a lock, and tokens may go back",
			"take forceSync=no out of zoo.cfg, and zookeeper.forceSync out of the arguments of Java")
	}
	if len(v.refused) > 0 {
		f.add(driver.Note, "words-not-allowed", name,
			fmt.Sprintf("it does not answer the four-letter words %s, so it was not looked at %s", strings.Join(v.refused, ", "), v.unseen()),
			"nothing, or 4lw.commands.whitelist=srvr,conf,mntr in zoo.cfg")
	}
}

// unseen is what a server did not tell.
func (v *visit) unseen() string {
	what := map[string]string{
		"srvr": "which version it has and whether it has a leader",
		"conf": "how long sessions may be on it",
		"mntr": "for how long it has run and whether it waits for the disk",
	}
	all := make([]string, len(v.refused))
	for i, word := range v.refused {
		all[i] = what[word]
	}
	return strings.Join(all, ", ")
}

// older reports whether a version, such as "3.8.0", is older than another.
func older(version string, than [2]int) bool {
	words := strings.Split(version, ".")
	for i, least := range than {
		if i >= len(words) {
			return true
		}
		n, err := strconv.Atoi(words[i])
		if err != nil || n != least {
			return err == nil && n < least
		}
	}
	return false
}
