package redis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// judge finds what endangers the promises, by the report on one server.
func (e *Engine) judge(r *serverReport) []driver.Finding {
	if r.server.Err != nil {
		return nil // the core reports that
	}
	f := &health.Findings{Server: r.server.Name}
	if len(r.infoFields) > 0 && !e.judgeUsable(f, r) {
		return f.All
	}
	f.All = append(f.All, r.rights.judge(r.server.Name, !r.isReplica)...)
	if len(r.infoFields) == 0 {
		return f.All
	}
	h := r.health()
	h.JudgeMemory(f, "locks, queues, and the last tokens of names")
	if r.isReplica {
		return f.All
	}
	h.JudgeSettings(f)
	then := "The failover guard then keeps others out until all leases from before have ended, " +
		"so this breaks no promise; but the holders of such locks lose them"
	if !e.guard {
		then = "Without the failover guard others are then granted what is still held"
	}
	h.JudgePersistence(f, then)
	e.judgeReplication(f, r)
	h.JudgeClients(f)
	return f.All
}

// judgeUsable finds out whether locks can be kept on a server at all, and reports whether the rest is worth examining.
func (e *Engine) judgeUsable(f *health.Findings, r *serverReport) bool {
	severity, then := driver.Critical, "no lock can be granted"
	if r.isReplica {
		severity, then = driver.Warning, "no lock can be granted once it is promoted"
	}
	switch {
	case r.info.mode == modeSentinel:
		f.Add(severity, "wrong-mode",
			"it is a Sentinel, which keeps no data: "+then,
			"use a redis+sentinel:// URL, or NewFailoverClient")
		return false
	case r.info.runID == "":
		f.Add(severity, "unknown-server",
			"it hides its run_id, as a proxy does, so that a restart cannot be noticed: "+then,
			"connect to the server itself")
		return false
	case !r.info.isModeKnown():
		f.Add(severity, "unknown-server",
			"it does not say whether it is part of a Cluster: "+
				"INFO has no redis_mode or server_mode that is known: "+then,
			"connect to the server itself, a Redis or Valkey")
		return false
	case r.info.isTooOld():
		f.Add(severity, "old-version",
			fmt.Sprintf("it has version %s, without scripts and messages that are needed: %s",
				r.info.displayVersion(), then),
			fmt.Sprintf("update it to %d.0 or later", minVersion))
		return false
	case r.info.isReplica && !r.isReplica:
		f.Add(severity, "replica-as-node",
			"it is a replica of "+r.infoFields["master_host"]+":"+r.infoFields["master_port"]+", "+
				"and refuses all changes: "+then,
			"name the master, or the Sentinels that know it")
	}
	if r.oneOfSeveral {
		f.Add(severity, "wrong-mode",
			"it is one of several masters of a Cluster, and the others are not known: "+
				"locks whose names are there cannot be granted",
			"use a redis+cluster:// URL, or NewClusterClient")
		return false
	}
	if r.infoFields["loading"] == "1" {
		f.Add(severity, "loading", "it is loading its data, and refuses requests until that is done: "+then, "wait")
		return false
	}
	return true
}

// judge finds rights that the user lacks. A server that grants needs them now, a replica once it is promoted.
func (missing *missingRights) judge(place string, granting bool) []driver.Finding {
	f := &health.Findings{Server: place}
	if missing.isReadOnlyUser() {
		f.Add(driver.Note, "rights-look",
			"the user can list locks, but cannot take any. That is fine if it is intended",
			"nothing, or the words of *lock* in docs/engines/redis.md#the-smallest-rights")
		inVain := func(word string) bool { return !slices.Contains(optionalRights, word) }
		*missing = missingRights{
			someNames: missing.someNames,
			listing:   missing.listing,
			unknown:   missing.unknown,
			optional:  slices.DeleteFunc(slices.Clone(missing.optional), inVain),
		}
	}
	worst, then := driver.Critical, "no lock can be granted"
	if !granting {
		worst, then = driver.Warning, "no lock can be granted once it is promoted "+
			"(rights are not copied from the master)"
	}
	const fix = "see the smallest rights in docs/engines/redis.md; give these with ACL SETUSER: "
	list := func(words []string) string { return strings.Join(words, " ") }
	if len(missing.hidden) > 0 {
		f.Add(worst, "hidden-commands",
			fmt.Sprintf("the server does not know %s: %s", strings.ReplaceAll(list(missing.hidden), "+", ""), then),
			"take the rename-command out of its configuration, or use a server that has all commands")
	}
	if len(missing.denied) > 0 {
		f.Add(worst, "rights",
			fmt.Sprintf("the user lacks %s: %s", list(missing.denied), then),
			fix+list(missing.denied))
	}
	if len(missing.someNames) > 0 {
		f.Add(driver.Note, "rights-names",
			fmt.Sprintf("the user may not use all names: %s would be needed for that. "+
				"That is fine if the user is meant for some names only", list(missing.someNames)),
			fix+list(missing.someNames))
	}
	if len(missing.listing) > 0 && granting {
		f.Add(driver.Warning, "rights-listing",
			fmt.Sprintf("the user lacks %s: locks work, but cannot be listed", list(missing.listing)),
			fix+list(missing.listing))
	}
	if len(missing.messages) > 0 {
		f.Add(driver.Warning, "rights-messages",
			fmt.Sprintf("the user may not %s: "+
				"waiters poll, up to 50 times a second each, instead of being notified",
				strings.Join(missing.messages, ", nor ")),
			fix+list(missing.channels))
	}
	if len(missing.optional) > 0 && granting {
		f.Add(driver.Note, "rights-spare",
			fmt.Sprintf("the user lacks %s. Nearly everything works without it", list(missing.optional)),
			fix+list(missing.optional))
	}
	if missing.unknown {
		f.Add(driver.Note, "rights-untold",
			"the server cannot say what the user may do, so the rights were not checked",
			"nothing")
	}
	return f.All
}
