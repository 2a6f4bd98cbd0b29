package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// votelessCodes are the findings that keep a server from voting, and harm nothing else.
var votelessCodes = []string{
	"rights", "hidden-commands", "old-version", "unknown-server", "wrong-mode", "loading", "memory-full",
	"saving-fails", "too-few-replicas",
}

// mergeReports merges what was found out about all servers.
func mergeReports(reports []nodeReport) driver.Examination {
	var x driver.Examination
	voting := 0
	for i := range reports {
		r := &reports[i]
		if r.err != nil {
			r.Servers = []driver.Server{{Votes: true, Uptime: -1, RoundTrip: -1, Err: asSilent(r.err)}}
		}
		r.useNodeName()
		if r.votes() {
			voting++
		}
	}
	majority := len(reports)/2 + 1
	isNode := func(server string) bool {
		return slices.ContainsFunc(reports, func(r nodeReport) bool { return r.name == server })
	}
	for _, r := range reports {
		x.Servers = append(x.Servers, r.Servers[0])
		for _, p := range r.Servers[1:] {
			if !isNode(p.Name) { // a replica that is named as a node, too, has a report of its own
				x.Servers = append(x.Servers, p)
			}
		}
		for _, f := range r.Findings {
			switch {
			case f.Server != r.name && isNode(f.Server):
				continue
			case f.Code == "wrong-mode" && r.server.Cluster:
				continue // findDependentNodes reports it
			case f.Code == "replica-as-node" && f.Server == r.name:
				f.Text = "it is a replica, whose data is that of its master: " +
					"if it voted, a majority would not be one. An engine on these servers is refused"
				f.Fix = "name independent masters"
			}
			if slices.Contains(votelessCodes, f.Code) && f.Severity == driver.Critical && voting >= majority {
				f.Severity = driver.Warning
				f.Text += ". This server has no vote, but a majority is left"
			}
			isKnown := func(g driver.Finding) bool { return g.Code == f.Code && g.Server == "" }
			if f.Server != "" || !slices.ContainsFunc(x.Findings, isKnown) {
				x.Findings = append(x.Findings, f)
			}
		}
	}
	x.Findings = append(x.Findings, findDependentNodes(reports)...)
	x.Findings = append(x.Findings, findLists(reports)...)
	x.Findings = append(x.Findings, findNodeCount(len(reports), voting, majority)...)
	x.Findings = append(x.Findings, findVersions(reports)...)
	return x
}

// useNodeName calls the server what the engine calls it.
func (r *nodeReport) useNodeName() {
	if len(r.Servers) == 0 { // its address leads to something else
		r.Servers = []driver.Server{{Uptime: -1, RoundTrip: -1}}
	}
	before := r.Servers[0].Name
	r.Servers[0].Name = r.name
	for i, f := range r.Findings {
		if f.Server == before && before != "" {
			r.Findings[i].Server = r.name
		}
	}
}

// votes reports whether the server votes, as far as is known.
func (r *nodeReport) votes() bool {
	p := r.Servers[0]
	return r.err == nil && p.Err == nil && p.Votes && p.Closed == 0 && !r.server.Cluster &&
		!slices.ContainsFunc(r.Findings, func(f driver.Finding) bool {
			return f.Server == r.name && f.Severity == driver.Critical && slices.Contains(votelessCodes, f.Code)
		})
}

// findDependentNodes finds servers that must not vote because they are not independent of each other.
func findDependentNodes(reports []nodeReport) (all []driver.Finding) {
	add := func(code, server, text, fix string) {
		all = append(all, driver.Finding{Severity: driver.Critical, Code: code, Server: server, Text: text, Fix: fix})
	}
	first := map[string]string{} // by run id
	for _, r := range reports {
		if r.server.RunID == "" {
			continue
		}
		if other, twice := first[r.server.RunID]; twice {
			add("same-server-twice", r.name,
				fmt.Sprintf("it is the same server as %s: its vote would count twice, so a majority would not be one. "+
					"An engine on these servers is refused", other),
				"name each server once")
			continue
		}
		first[r.server.RunID] = r.name
		if r.server.Cluster {
			add("cluster-as-node", r.name,
				"it is part of a Cluster, which promotes replicas by itself, and they may lack grants of "+
					"their master. An engine on these servers is refused",
				"name independent masters")
		}
	}
	return all
}

// findLists finds servers that belong to different lists, or to none while others do.
func findLists(reports []nodeReport) (all []driver.Finding) {
	l := nodeList{size: len(reports)}
	hasNone := map[string]bool{}
	for _, r := range reports {
		if r.server.List == "" {
			continue
		}
		l.noteHash(r.name, r.server.List)
		switch {
		case strings.Contains(r.server.List, changingMark):
			all = append(all, driver.Finding{Severity: driver.Critical, Code: "list-changing", Server: r.name,
				Text: "its list of servers is being changed, or that was broken off: it has no vote meanwhile",
				Fix:  "leasehold open --change-nodes, once more"})
		case r.server.List == noListHash:
			hasNone[r.name] = true
		}
	}
	if l.other != nil {
		all = append(all, driver.Finding{Severity: driver.Critical, Code: "other-list", Server: l.other.Server,
			Text: "it " + l.other.What +
				": each list could have a majority of which the other knows nothing, so nothing is granted",
			Fix: "name the same servers in all programs; if they were changed, leasehold open --change-nodes"})
	}
	for _, r := range reports {
		if l.commonHash != "" && hasNone[r.name] {
			all = append(all, driver.Finding{Severity: driver.Warning, Code: "no-list", Server: r.name,
				Text: "it does not belong to the list of the others, and has no vote: " +
					"it is new or has lost its data, or other programs name another server",
				Fix: "nothing, if programs name it, too: it is put back when one asks it for a lock. " +
					"Else leasehold open --change-nodes"})
		}
	}
	return all
}

// findNodeCount finds that too few servers vote, or that their number is not a good one.
func findNodeCount(all, voting, majority int) (found []driver.Finding) {
	if voting < majority {
		found = append(found, driver.Finding{Severity: driver.Critical, Code: "no-majority",
			Text: fmt.Sprintf("%d of %d servers vote now, and %d must: no lock can be granted", voting, all, majority),
			Fix:  "see to the others"})
	}
	switch {
	case all < 3:
		found = append(found, driver.Finding{Severity: driver.Warning, Code: "too-few-nodes",
			Text: fmt.Sprintf("with %d servers none may fail: if one does, no lock can be granted", all),
			Fix:  "name three or five, or use the engine redis, which can do more"})
	case all%2 == 0:
		found = append(found, driver.Finding{Severity: driver.Note, Code: "even-number",
			Text: fmt.Sprintf("%d servers tolerate no more failures than %d: a majority is %d", all, all-1, majority),
			Fix:  "nothing, or one server more or less"})
	}
	return found
}

// findVersions finds that the servers have different versions.
func findVersions(reports []nodeReport) []driver.Finding {
	var all []string
	for _, r := range reports {
		if v := r.Servers[0].Version; v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return []driver.Finding{{Severity: driver.Note, Code: "different-versions",
		Text: "the servers have different versions: " + strings.Join(all, ", "),
		Fix:  "nothing, or update all to the same"}}
}

// asSilent makes ErrSilent of a timeout, as the contract of Server.Err wants it.
func asSilent(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return driver.ErrSilent
	}
	return err
}
