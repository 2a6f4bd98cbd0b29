package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// voteless are the findings about a server that keep it from voting, and harm nothing else.
var voteless = []string{
	"rights", "hidden-commands", "old-version", "unknown-server", "wrong-mode", "loading", "memory-full", "saving-fails", "too-few-replicas",
}

// merge puts together what was seen of all servers.
func merge(seen []look) driver.Examination {
	var x driver.Examination
	voting := 0
	for i := range seen {
		l := &seen[i]
		if l.err != nil {
			l.Places = []driver.Place{{Votes: true, Uptime: -1, RoundTrip: -1, Err: silence(l.err)}}
		}
		l.rename()
		if l.votes() {
			voting++
		}
	}
	need := len(seen)/2 + 1
	isNode := func(place string) bool {
		return slices.ContainsFunc(seen, func(l look) bool { return l.name == place })
	}
	for _, l := range seen {
		x.Places = append(x.Places, l.Places[0])
		for _, p := range l.Places[1:] {
			if !isNode(p.Name) { // a replica that is named as a node, too, has been looked at as such
				x.Places = append(x.Places, p)
			}
		}
		for _, f := range l.Findings {
			switch {
			case f.Place != l.name && isNode(f.Place):
				continue
			case f.Code == "wrong-mode" && l.is.Cluster:
				continue // independence tells of it
			case f.Code == "replica-as-node" && f.Place == l.name:
				f.Text = "it is a replica, which knows what its master knows: with its vote a majority would be none. An engine on these " +
					"servers is refused"
				f.Mend = "name independent masters"
			}
			if slices.Contains(voteless, f.Code) && f.Severity == driver.Critical && voting >= need {
				f.Severity = driver.Warning
				f.Text += ". This server has no vote, but a majority is left"
			}
			if f.Place != "" || !slices.ContainsFunc(x.Findings, func(g driver.Finding) bool { return g.Code == f.Code && g.Place == "" }) {
				x.Findings = append(x.Findings, f)
			}
		}
	}
	x.Findings = append(x.Findings, independence(seen)...)
	x.Findings = append(x.Findings, lists(seen)...)
	x.Findings = append(x.Findings, number(len(seen), voting, need)...)
	x.Findings = append(x.Findings, versions(seen)...)
	return x
}

// rename calls the server what the engine calls it.
func (l *look) rename() {
	if len(l.Places) == 0 { // its address leads to something else
		l.Places = []driver.Place{{Uptime: -1, RoundTrip: -1}}
	}
	before := l.Places[0].Name
	l.Places[0].Name = l.name
	for i, f := range l.Findings {
		if f.Place == before && before != "" {
			l.Findings[i].Place = l.name
		}
	}
}

// votes reports whether the server votes, as far as is known.
func (l *look) votes() bool {
	p := l.Places[0]
	return l.err == nil && p.Err == nil && p.Votes && p.Closed == 0 && !l.is.Cluster && !slices.ContainsFunc(l.Findings, func(f driver.Finding) bool {
		return f.Place == l.name && f.Severity == driver.Critical && slices.Contains(voteless, f.Code)
	})
}

// independence finds servers that must not vote beside each other.
func independence(seen []look) (all []driver.Finding) {
	add := func(code, place, text, mend string) {
		all = append(all, driver.Finding{Severity: driver.Critical, Code: code, Place: place, Text: text, Mend: mend})
	}
	first := map[string]string{} // by run id
	for _, l := range seen {
		if l.is.RunID == "" {
			continue
		}
		if other, twice := first[l.is.RunID]; twice {
			add("same-server-twice", l.name, fmt.Sprintf("it is the same server as %s: its vote would count twice, so that a majority is none. "+
				"An engine on these servers is refused", other),
				"name each server once")
			continue
		}
		first[l.is.RunID] = l.name
		if l.is.Cluster {
			add("cluster-as-node", l.name,
				"it is part of a Cluster, which promotes replicas by itself: a node that has forgotten. An engine on these servers is refused",
				"name independent masters")
		}
	}
	return all
}

// lists finds servers that belong to different lists, or to none while others do.
func lists(seen []look) (all []driver.Finding) {
	l := list{size: len(seen)}
	none := map[string]bool{}
	for _, s := range seen {
		if s.is.List == "" {
			continue
		}
		l.saw(s.name, s.is.List)
		switch {
		case strings.Contains(s.is.List, changing):
			all = append(all, driver.Finding{Severity: driver.Critical, Code: "list-changing", Place: s.name,
				Text: "its list of servers is being changed, or that was broken off: it has no vote meanwhile", Mend: "leasehold open --change-nodes, once more"})
		case s.is.List == noList:
			none[s.name] = true
		}
	}
	if l.other != nil {
		all = append(all, driver.Finding{Severity: driver.Critical, Code: "other-list", Place: l.other.Server,
			Text: "it " + l.other.What + ": each list could have a majority of which the other knows nothing, so nothing is granted",
			Mend: "name the same servers in all programs; if they were changed, leasehold open --change-nodes"})
	}
	for _, s := range seen {
		if l.word != "" && none[s.name] {
			all = append(all, driver.Finding{Severity: driver.Warning, Code: "no-list", Place: s.name,
				Text: "it does not belong to the list of the others, and has no vote: it is new or has lost its data, or other programs name another server",
				Mend: "nothing, if programs name it, too: it is put back when one asks it for a lock. Else leasehold open --change-nodes"})
		}
	}
	return all
}

// number finds that there are too few servers, or one that is of no use.
func number(all, voting, need int) (found []driver.Finding) {
	if voting < need {
		found = append(found, driver.Finding{Severity: driver.Critical, Code: "no-majority",
			Text: fmt.Sprintf("%d of %d servers vote now, and %d must: no lock can be had", voting, all, need), Mend: "see to the others"})
	}
	switch {
	case all < 3:
		found = append(found, driver.Finding{Severity: driver.Warning, Code: "too-few-nodes",
			Text: fmt.Sprintf("with %d servers none may fail: if one does, no lock can be had", all), Mend: "name three or five, or use the " +
				"engine redis, which can do more"})
	case all%2 == 0:
		found = append(found, driver.Finding{Severity: driver.Note, Code: "even-number",
			Text: fmt.Sprintf("%d servers bear no more failures than %d: a majority is %d", all, all-1, need), Mend: "nothing, or one server " +
				"more or less"})
	}
	return found
}

// versions finds that they differ.
func versions(seen []look) []driver.Finding {
	var all []string
	for _, l := range seen {
		if v := l.Places[0].Version; v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return []driver.Finding{{Severity: driver.Note, Code: "different-versions", Text: "the servers have different versions: " +
		"" + strings.Join(all, ", "), Mend: "nothing, or update all to the same"}}
}

// silence is the error of a place that has not answered, as the contract has it.
func silence(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return driver.ErrSilent
	}
	return err
}
