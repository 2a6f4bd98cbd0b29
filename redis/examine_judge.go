package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// findings collects the findings about one server.
type findings struct {
	server string
	all    []driver.Finding
}

func (f *findings) add(s driver.Severity, code, text, fix string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Server: f.server, Text: text, Fix: fix})
}

// judge finds what endangers the promises, by the report on one server.
func (e *Engine) judge(r *serverReport) []driver.Finding {
	if r.server.Err != nil {
		return nil // the core reports that
	}
	f := &findings{server: r.server.Name}
	if len(r.infoFields) > 0 && !e.judgeUsable(f, r) {
		return f.all
	}
	f.all = append(f.all, r.rights.judge(r.server.Name, !r.isReplica)...)
	if len(r.infoFields) == 0 {
		return f.all
	}
	e.judgeMemory(f, r)
	if r.isReplica {
		return f.all
	}
	if len(r.config) == 0 {
		f.add(driver.Note, "config-unreadable",
			"settings could not be read (CONFIG GET is refused), "+
				"so it is not known how often the disk is written, "+
				"whether failed saving stops writes, and how replicas stop a master",
			"nothing, or ACL SETUSER with +config|get for the user of the doctor alone: "+
				"it also reads requirepass and masterauth")
	}
	e.judgePersistence(f, r)
	e.judgeReplication(f, r)
	e.judgeClients(f, r)
	return f.all
}

// judgeUsable finds out whether locks can be kept on a server at all, and reports whether the rest is worth examining.
func (e *Engine) judgeUsable(f *findings, r *serverReport) bool {
	severity, then := driver.Critical, "no lock can be granted"
	if r.isReplica {
		severity, then = driver.Warning, "no lock can be granted once it is promoted"
	}
	switch {
	case r.info.mode == modeSentinel:
		f.add(severity, "wrong-mode",
			"it is a Sentinel, which keeps no data: "+then,
			"use a redis+sentinel:// URL, or NewFailoverClient")
		return false
	case r.info.runID == "":
		f.add(severity, "unknown-server",
			"it hides its run_id, as a proxy does, so that a restart cannot be noticed: "+then,
			"connect to the server itself")
		return false
	case !r.info.isModeKnown():
		f.add(severity, "unknown-server",
			"it does not say whether it is part of a Cluster: "+
				"INFO has no redis_mode or server_mode that is known: "+then,
			"connect to the server itself, a Redis or Valkey")
		return false
	case r.info.isTooOld():
		f.add(severity, "old-version",
			fmt.Sprintf("it has version %s, without scripts and messages that are needed: %s",
				r.info.displayVersion(), then),
			fmt.Sprintf("update it to %d.0 or later", minVersion))
		return false
	case r.info.isReplica && !r.isReplica:
		f.add(severity, "replica-as-node",
			"it is a replica of "+r.infoFields["master_host"]+":"+r.infoFields["master_port"]+", "+
				"and refuses all changes: "+then,
			"name the master, or the Sentinels that know it")
	}
	if r.oneOfSeveral {
		f.add(severity, "wrong-mode",
			"it is one of several masters of a Cluster, and the others are not known: "+
				"locks whose names are there cannot be granted",
			"use a redis+cluster:// URL, or NewClusterClient")
		return false
	}
	if r.infoFields["loading"] == "1" {
		f.add(severity, "loading", "it is loading its data, and refuses requests until that is done: "+then, "wait")
		return false
	}
	return true
}

// judgeMemory finds what happens when the server's memory is full.
func (e *Engine) judgeMemory(f *findings, r *serverReport) {
	limit, policy := r.infoNumber("maxmemory"), r.infoFields["maxmemory_policy"]
	evicts := policy != "noeviction" && policy != ""
	what := "any keys: locks, and the last tokens of names"
	if strings.HasPrefix(policy, "volatile-") {
		what = "keys that expire: locks, queues, and the last tokens of names"
	}
	switch {
	case limit == 0 && evicts:
		f.add(driver.Note, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s. It does nothing as long as there is no maxmemory; then it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts && r.isReplica:
		f.add(driver.Warning, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: once this replica is promoted and its memory is full, it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts:
		f.add(driver.Critical, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: when the memory is full (%d of %d MB are used), it "+
				"removes %s. Then two may hold a lock, and tokens may go back",
				policy, r.usedMemory()>>20, limit>>20, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; "+
				"keep what may be evicted on another server")
	case limit > 0 && !r.isReplica && r.usedMemory() >= limit:
		f.add(driver.Critical, "memory-full",
			fmt.Sprintf("all of its memory (%d MB) is used: "+
				"locks that are held are renewed, but no others are granted", limit>>20),
			"raise maxmemory, or remove other data")
	case limit > 0 && !r.isReplica && r.usedMemory() >= limit/10*9:
		f.add(driver.Warning, "memory-nearly-full",
			fmt.Sprintf("%d of %d MB of its memory are used: when it is full, no lock can be granted",
				r.usedMemory()>>20, limit>>20),
			"raise maxmemory, or remove other data")
	}
}

// usedMemory returns how much memory counts for maxmemory.
func (r *serverReport) usedMemory() int64 {
	return r.infoNumber("used_memory") - r.infoNumber("mem_not_counted_for_evict")
}

func (r *serverReport) infoNumber(field string) int64 {
	n, err := strconv.ParseInt(r.infoFields[field], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// durability says how much of its data a server has again after a restart.
type durability int

const (
	durableNothing durability = iota
	durableSnapshots
	durableEverySecond
	durableEverything
	durableAppended // written to the append-only file, but how soon is not known
)

func (r *serverReport) durability() durability {
	switch fsync := r.config["appendfsync"]; {
	case r.infoFields["aof_enabled"] == "1" && fsync == "always":
		return durableEverything
	case r.infoFields["aof_enabled"] == "1" && fsync == "":
		return durableAppended
	case r.infoFields["aof_enabled"] == "1":
		return durableEverySecond
	case r.config["save"] != "":
		return durableSnapshots
	}
	return durableNothing
}

// judgePersistence finds what a restart would lose, and whether saving fails.
func (e *Engine) judgePersistence(f *findings, r *serverReport) {
	then := "The failover guard then keeps others out until all leases from before have ended, " +
		"so this breaks no promise; but the holders of such locks lose them"
	if !e.guard {
		then = "Without the failover guard others are then granted what is still held"
	}
	switch r.durability() {
	case durableNothing:
		if len(r.config) == 0 {
			break // it may write snapshots
		}
		f.add(driver.Note, "persistence-off",
			"it keeps nothing on disk: a restart forgets all locks. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case durableSnapshots:
		f.add(driver.Note, "persistence-snapshots",
			"it writes snapshots only: a restart forgets the locks since the last one. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case durableEverySecond:
		f.add(driver.Note, "persistence-everysec",
			"it writes to the disk once a second, or when the system likes: a crash of the machine "+
				"forgets the locks of the last second or more. "+then,
			"nothing, or appendfsync always")
	}
	snapshot := r.infoFields["rdb_last_bgsave_status"] == "err"
	log := r.infoFields["aof_enabled"] == "1" && r.infoFields["aof_last_write_status"] == "err"
	stops, known := r.config["stop-writes-on-bgsave-error"]
	switch fix := "read its log, and free space on its disk; or stop-writes-on-bgsave-error no"; {
	case log, snapshot && stops == "yes" && r.config["save"] != "":
		f.add(driver.Critical, "saving-fails",
			"it could not write to its disk, and refuses all changes: no lock can be granted or renewed",
			fix)
	case snapshot && !known:
		f.add(driver.Warning, "saving-fails",
			"it could not write to its disk: unless stop-writes-on-bgsave-error is no, which may not be read, "+
				"it refuses all locks and renewals",
			fix)
	case snapshot:
		f.add(driver.Note, "saving-fails", "its last snapshot could not be written", fix)
	}
}

// judgeClients finds out whether the server has nearly too many clients.
func (e *Engine) judgeClients(f *findings, r *serverReport) {
	limit, now := r.infoNumber("maxclients"), r.infoNumber("connected_clients")
	if limit > 0 && now*10 >= limit*9 {
		f.add(driver.Warning, "clients-nearly-full",
			fmt.Sprintf("%d of %d connections are in use: once all are, new ones are refused, and with "+
				"them locks and messages to waiters", now, limit),
			"raise maxclients, or find out who keeps so many")
	}
}

// judge finds rights that the user lacks. A server that grants needs them now, a replica once it is promoted.
func (missing *missingRights) judge(place string, granting bool) []driver.Finding {
	f := &findings{server: place}
	if missing.isReadOnlyUser() {
		f.add(driver.Note, "rights-look",
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
		f.add(worst, "hidden-commands",
			fmt.Sprintf("the server does not know %s: %s", strings.ReplaceAll(list(missing.hidden), "+", ""), then),
			"take the rename-command out of its configuration, or use a server that has all commands")
	}
	if len(missing.denied) > 0 {
		f.add(worst, "rights",
			fmt.Sprintf("the user lacks %s: %s", list(missing.denied), then),
			fix+list(missing.denied))
	}
	if len(missing.someNames) > 0 {
		f.add(driver.Note, "rights-names",
			fmt.Sprintf("the user may not use all names: %s would be needed for that. "+
				"That is fine if the user is meant for some names only", list(missing.someNames)),
			fix+list(missing.someNames))
	}
	if len(missing.listing) > 0 && granting {
		f.add(driver.Warning, "rights-listing",
			fmt.Sprintf("the user lacks %s: locks work, but cannot be listed", list(missing.listing)),
			fix+list(missing.listing))
	}
	if len(missing.messages) > 0 {
		f.add(driver.Warning, "rights-messages",
			fmt.Sprintf("the user may not %s: "+
				"waiters poll, up to 50 times a second each, instead of being notified",
				strings.Join(missing.messages, ", nor ")),
			fix+list(missing.channels))
	}
	if len(missing.optional) > 0 && granting {
		f.add(driver.Note, "rights-spare",
			fmt.Sprintf("the user lacks %s. Nearly everything works without it", list(missing.optional)),
			fix+list(missing.optional))
	}
	if missing.unknown {
		f.add(driver.Note, "rights-untold",
			"the server cannot say what the user may do, so the rights were not checked",
			"nothing")
	}
	return f.all
}
