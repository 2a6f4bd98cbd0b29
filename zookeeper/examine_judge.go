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

// ensembleReport is what was found out about all servers.
type ensembleReport struct {
	servers       []*serverReport
	voters        int           // servers of the ensemble that vote; 0 if not known
	wantedTimeout time.Duration // the session timeout that the engine asks for
	givenTimeout  time.Duration // and the one that it was given; 0 if there is no session
	rights        []driver.Finding
	plainDialer   bool // connections are those of package net
	sendsPassword bool // a password is sent on connections
}

// findings collects what was found.
type findings struct{ all []driver.Finding }

func (f *findings) add(s driver.Severity, code, server, text, fix string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Server: server, Text: text, Fix: fix})
}

// judge finds what endangers the promises of the engine.
func (er *ensembleReport) judge() []driver.Finding {
	f := &findings{}
	er.judgeQuorum(f)
	er.judgeIndependence(f)
	er.judgeCount(f)
	er.judgeTimeouts(f)
	er.judgeVersions(f)
	er.judgeConnections(f)
	for _, sr := range er.servers {
		sr.judge(f)
	}
	return append(f.all, er.rights...)
}

// judgeConnections finds connections that others can read.
func (er *ensembleReport) judgeConnections(f *findings) {
	for _, sr := range er.servers {
		weak := exposure.FindWeakness(sr.server.Name, nil, er.sendsPassword)
		if !er.plainDialer || weak == nil {
			continue
		}
		severity := driver.Note
		if weak.Exposed {
			severity = driver.Warning
		}
		f.add(severity, weak.Code, sr.server.Name, weak.Text,
			"secureClientPort in zoo.cfg, and zookeepers:// in the URL")
	}
}

// judgeQuorum finds that no server has a leader.
func (er *ensembleReport) judgeQuorum(f *findings) {
	without := 0
	for _, sr := range er.servers {
		if sr.serves {
			return
		}
		if sr.hasNoLeader {
			without++
		}
	}
	if without > 0 {
		f.add(driver.Critical, "no-leader", "",
			fmt.Sprintf("%d of %d servers answer and serve nobody, as fewer than a majority of the ensemble "+
				"have found each other: no lock can be granted or renewed", without, len(er.servers)),
			"start the other servers, "+
				"and check that they reach each other on their ports for followers and for elections")
	}
}

// judgeIndependence finds servers that know nothing of each other. A standalone server has data of its own. If other
// servers are at other transactions, they are not merely other names of it.
func (er *ensembleReport) judgeIndependence(f *findings) {
	for _, sr := range er.servers {
		isIndependent := func(other *serverReport) bool {
			return other.serves && (other.lastZxid < sr.firstZxid || sr.lastZxid < other.firstZxid)
		}
		if sr.server.Role == "standalone" && slices.ContainsFunc(er.servers, isIndependent) {
			f.add(driver.Critical, "different-clusters", sr.server.Name,
				"it is alone, and other servers that are named with it serve clients, too: "+
					"clients of one and of another may hold a lock at the same time",
				"name the servers of one ensemble only; if they were meant to be one, "+
					"give each the lines server.1 to server.N in zoo.cfg, and a myid of its own")
		}
	}
}

// judgeCount finds ensembles that tolerate too few failures for their size, and clients that do not know all servers.
func (er *ensembleReport) judgeCount(f *findings) {
	switch {
	case er.voters == 0:
	case er.voters == 1:
		f.add(driver.Note, "too-few-members", "",
			"the ensemble has one server: while it is down, no lock can be granted or renewed. "+
				"It forgets nothing that is on its disk",
			"nothing, or three servers")
	case er.voters == 2:
		f.add(driver.Warning, "too-few-members", "",
			"the ensemble has two servers, and needs both: "+
				"when either is down, no lock can be granted or renewed, which is worse than with one",
			"one server more, or one less")
	case er.voters%2 == 0:
		f.add(driver.Note, "even-number", "",
			fmt.Sprintf("the ensemble has %d servers that vote, and tolerates no more failures than one of %d",
				er.voters, er.voters-1),
			"one server more, or one less")
	}
	if er.voters > len(er.servers) {
		f.add(driver.Note, "servers-not-named", "",
			fmt.Sprintf("the ensemble has %d servers, of which %d are named: when those are down, this program can do "+
				"nothing, although a majority may be left. That is fine if one name stands for all of them, "+
				"but they were not looked at", er.voters, len(er.servers)),
			"name all of them in the URL")
	}
}

// judgeTimeouts finds sessions with another timeout than was asked for, or that may get another one later.
func (er *ensembleReport) judgeTimeouts(f *findings) {
	switch {
	case er.givenTimeout == 0 || er.givenTimeout == er.wantedTimeout:
	case er.givenTimeout < er.wantedTimeout:
		f.add(driver.Note, "session-timeout", "",
			fmt.Sprintf("a session timeout of %v was asked for, and the server gives at most %v: "+
				"no lease is longer than %v",
				er.wantedTimeout, er.givenTimeout, maxTTL(er.givenTimeout)),
			"ask for as much, or set maxSessionTimeout (20 ticks by default) in zoo.cfg")
	default:
		f.add(driver.Note, "session-timeout", "",
			fmt.Sprintf("a session timeout of %v was asked for, and the server gives at least %v: "+
				"what a process held becomes free only that long after it has died", er.wantedTimeout, er.givenTimeout),
			"ask for as much, or set minSessionTimeout (2 ticks by default) in zoo.cfg")
	}
	shortest, longest := er.timeoutLimits()
	if shortest < longest && shortest < max(er.wantedTimeout, er.givenTimeout) {
		f.add(driver.Critical, "session-limits-differ", "",
			fmt.Sprintf("one server gives sessions at most %v, and another one %v: "+
				"when the session of a client moves to the first one and the client is cut off there, "+
				"the session ends before its leases, and two may hold a lock for up to a ttl; "+
				"longer leases cannot be granted or renewed there", shortest, longest),
			"set the same maxSessionTimeout, or the same tickTime, on all servers")
	}
}

// timeoutLimits returns the smallest and the largest of the servers' maximum session timeouts.
func (er *ensembleReport) timeoutLimits() (shortest, longest time.Duration) {
	for _, sr := range er.servers {
		if sr.maxTimeout > 0 && (shortest == 0 || sr.maxTimeout < shortest) {
			shortest = sr.maxTimeout
		}
		longest = max(longest, sr.maxTimeout)
	}
	return shortest, longest
}

func (er *ensembleReport) judgeVersions(f *findings) {
	var all []string
	for _, sr := range er.servers {
		if sr.server.Version != "" {
			all = append(all, sr.server.Version)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 1 {
		f.add(driver.Note, "different-versions", "",
			"the servers have different versions: "+strings.Join(all, ", "),
			"nothing during an update; else update the older ones")
	}
}

// oldestVersion is the oldest version that is tested: 3.6.
var oldestVersion = [2]int{3, 6}

// judge finds what endangers the promises of the engine in what one server has answered.
func (sr *serverReport) judge(f *findings) {
	name := sr.server.Name
	if sr.server.Version != "" && isOlder(sr.server.Version, oldestVersion) {
		f.add(driver.Warning, "old-version", name,
			fmt.Sprintf("it has version %s, with which locks have not been tested", sr.server.Version),
			fmt.Sprintf("update it to %d.%d or later", oldestVersion[0], oldestVersion[1]))
	}
	if sr.flushes > 0 && sr.syncs == 0 {
		f.add(driver.Warning, "sync-off", name,
			"it does not wait for the disk (forceSync=no): "+
				"when its machine goes down, it may forget what it has acknowledged. "+
				"If a majority forgets, as when the power fails, two may hold a lock, and tokens may go back",
			"take forceSync=no out of zoo.cfg, and zookeeper.forceSync out of the arguments of Java")
	}
	if len(sr.refusedWords) > 0 {
		f.add(driver.Note, "words-not-allowed", name,
			fmt.Sprintf("it does not answer the four-letter words %s, so it is not known %s",
				strings.Join(sr.refusedWords, ", "), sr.describeUnseen()),
			"nothing, or 4lw.commands.whitelist=srvr,conf,mntr in zoo.cfg")
	}
}

// describeUnseen describes what a server did not tell.
func (sr *serverReport) describeUnseen() string {
	what := map[string]string{
		"srvr": "which version it has and whether it has a leader",
		"conf": "what it allows as a session timeout",
		"mntr": "how long it has been running and whether it waits for the disk",
	}
	all := make([]string, len(sr.refusedWords))
	for i, word := range sr.refusedWords {
		all[i] = what[word]
	}
	return strings.Join(all, ", ")
}

// isOlder reports whether a version, such as "3.8.0", is older than another.
func isOlder(version string, than [2]int) bool {
	words := strings.Split(version, ".")
	for i, minimum := range than {
		if i >= len(words) {
			return true
		}
		n, err := strconv.Atoi(words[i])
		if err != nil || n != minimum {
			return err == nil && n < minimum
		}
	}
	return false
}
