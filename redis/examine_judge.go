package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// findings are about one place.
type findings struct {
	place string
	all   []driver.Finding
}

func (f *findings) add(s driver.Severity, code, text, mend string) {
	f.all = append(f.all, driver.Finding{Severity: s, Code: code, Place: f.place, Text: text, Mend: mend})
}

// judge finds what endangers promises in what was seen of one server.
func (e *Engine) judge(v *visit) []driver.Finding {
	if v.place.Err != nil {
		return nil // which is for the core to tell
	}
	f := &findings{place: v.place.Name}
	if len(v.info) > 0 && !e.usable(f, v) {
		return f.all
	}
	f.all = append(f.all, v.rights.judge(v.place.Name, !v.follows)...)
	if len(v.info) == 0 {
		return f.all
	}
	e.memory(f, v)
	if v.follows {
		return f.all
	}
	if len(v.config) == 0 {
		f.add(driver.Note, "config-unreadable",
			"settings could not be read (CONFIG GET is refused), so it was not looked at how often the disk is written, "+
				"whether failed saving stops writes, and how replicas stop a master",
			"nothing, or ACL SETUSER with +config|get")
	}
	e.persistence(f, v)
	e.replication(f, v)
	e.clients(f, v)
	return f.all
}

// usable finds what makes a server none on which locks can be kept, and reports whether the rest is worth a look.
func (e *Engine) usable(f *findings, v *visit) bool {
	severity, then := driver.Critical, "no lock can be had"
	if v.follows {
		severity, then = driver.Warning, "no lock can be had once it is promoted"
	}
	switch {
	case v.facts.mode == modeSentinel:
		f.add(severity, "wrong-mode", "it is a Sentinel, which keeps no data: "+then, "use a redis+sentinel:// URL, or NewFailoverClient")
		return false
	case v.facts.runID == "":
		f.add(severity, "unknown-server",
			"it hides its run_id, as a proxy does, so that a restart cannot be noticed: "+then,
			"connect to the server itself")
		return false
	case !v.facts.modeKnown():
		f.add(severity, "unknown-server",
			"it does not say whether it is part of a Cluster: INFO has no redis_mode or server_mode that is known: "+then,
			"connect to the server itself, a Redis or Valkey")
		return false
	case v.facts.tooOld():
		f.add(severity, "old-version",
			fmt.Sprintf("it has version %s, without scripts and messages that are needed: %s", v.facts.called(), then),
			fmt.Sprintf("update it to %d.0 or later", oldest))
		return false
	case v.facts.replica && !v.follows:
		f.add(severity, "replica-as-node",
			"it is a replica of "+v.info["master_host"]+":"+v.info["master_port"]+", and refuses whatever "+
				"changes anything: "+then,
			"name the master, or the Sentinels that know it")
	}
	if v.apart {
		f.add(severity, "wrong-mode",
			"it is one of several masters of a Cluster, and the others are not known: locks whose names are there cannot be had",
			"use a redis+cluster:// URL, or NewClusterClient")
		return false
	}
	if v.info["loading"] == "1" {
		f.add(severity, "loading", "it is loading its data, and refuses all else until it has: "+then, "wait")
		return false
	}
	return true
}

// memory finds what happens when it is full.
func (e *Engine) memory(f *findings, v *visit) {
	most, policy := v.number("maxmemory"), v.info["maxmemory_policy"]
	evicts := policy != "noeviction" && policy != ""
	what := "whatever it likes: locks, and the last tokens of names"
	if strings.HasPrefix(policy, "volatile-") {
		what = "keys that have an end: locks, queues, and the last tokens of names"
	}
	switch {
	case most == 0 && evicts:
		f.add(driver.Note, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s. It does nothing as long as there is no maxmemory; then it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts && v.follows:
		f.add(driver.Warning, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: once this replica is promoted and its memory is full, it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts:
		f.add(driver.Critical, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: when the memory is full (%d of %d MB are used), it "+
				"removes %s. Then two may hold a lock, and tokens may go back",
				policy, v.used()>>20, most>>20, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; keep what may be evicted on another server")
	case most > 0 && !v.follows && v.used() >= most:
		f.add(driver.Critical, "memory-full",
			fmt.Sprintf("all of its memory (%d MB) is used: locks that are held are renewed, but none can be had", most>>20),
			"raise maxmemory, or remove other data")
	case most > 0 && !v.follows && v.used() >= most/10*9:
		f.add(driver.Warning, "memory-nearly-full",
			fmt.Sprintf("%d of %d MB of its memory are used: when it is full, no lock can be had", v.used()>>20, most>>20),
			"raise maxmemory, or remove other data")
	}
}

// used is how much memory counts for maxmemory.
func (v *visit) used() int64 { return v.number("used_memory") - v.number("mem_not_counted_for_evict") }

func (v *visit) number(field string) int64 {
	n, err := strconv.ParseInt(v.info[field], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// persists says what of its data a server finds again after a restart.
type persists int

const (
	nothing persists = iota
	snapshots
	everySecond
	everything
	appended // it is not known how soon
)

func (v *visit) persists() persists {
	switch fsync := v.config["appendfsync"]; {
	case v.info["aof_enabled"] == "1" && fsync == "always":
		return everything
	case v.info["aof_enabled"] == "1" && fsync == "":
		return appended
	case v.info["aof_enabled"] == "1":
		return everySecond
	case v.config["save"] != "":
		return snapshots
	}
	return nothing
}

// persistence finds what a restart forgets, and whether saving fails.
func (e *Engine) persistence(f *findings, v *visit) {
	then := "The failover guard then keeps others out until all leases from before have ended, so this breaks no promise; but who holds such a " +
		"lock loses it"
	if !e.guard {
		then = "Without the failover guard others are then granted what is still held"
	}
	switch v.persists() {
	case nothing:
		if len(v.config) == 0 {
			break // it may write snapshots
		}
		f.add(driver.Note, "persistence-off",
			"it keeps nothing on disk: a restart forgets all locks. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case snapshots:
		f.add(driver.Note, "persistence-snapshots",
			"it writes snapshots only: a restart forgets the locks since the last one. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case everySecond:
		f.add(driver.Note, "persistence-everysec",
			"it writes to the disk once a second, or when the system likes: a crash of the machine "+
				"forgets the locks of the last second or more. "+then,
			"nothing, or appendfsync always")
	}
	snapshot, log := v.info["rdb_last_bgsave_status"] == "err", v.info["aof_enabled"] == "1" && v.info["aof_last_write_status"] == "err"
	stops, known := v.config["stop-writes-on-bgsave-error"]
	switch mend := "look into its log, and make room on its disk; or stop-writes-on-bgsave-error no"; {
	case log, snapshot && stops == "yes" && v.config["save"] != "":
		f.add(driver.Critical, "saving-fails",
			"it could not write to its disk, and refuses all that changes anything: no lock can be had or renewed",
			mend)
	case snapshot && !known:
		f.add(driver.Warning, "saving-fails",
			"it could not write to its disk: unless stop-writes-on-bgsave-error is no, which may not be read, it refuses all locks and renewals",
			mend)
	case snapshot:
		f.add(driver.Note, "saving-fails", "its last snapshot could not be written", mend)
	}
}

// clients finds that there are too many.
func (e *Engine) clients(f *findings, v *visit) {
	most, now := v.number("maxclients"), v.number("connected_clients")
	if most > 0 && now*10 >= most*9 {
		f.add(driver.Warning, "clients-nearly-full",
			fmt.Sprintf("%d of %d connections are in use: one more than that is refused, and with it "+
				"locks and messages to those who wait", now, most),
			"raise maxclients, or find out who keeps so many")
	}
}

// judge finds what the user may not do. A server that grants needs it now, another one when it is promoted.
func (r *lacks) judge(place string, granting bool) []driver.Finding {
	f := &findings{place: place}
	if r.looksOnly() {
		f.add(driver.Note, "rights-look", "the user may look, and may not lock. If it is meant for that, all is well",
			"nothing, or the words of *lock* in docs/engines/redis.md#the-smallest-rights")
		inVain := func(word string) bool { return !slices.Contains(sparing, word) }
		*r = lacks{names: r.names, listing: r.listing, untold: r.untold, spare: slices.DeleteFunc(slices.Clone(r.spare), inVain)}
	}
	worst, then := driver.Critical, "no lock can be had"
	if !granting {
		worst, then = driver.Warning, "no lock can be had once it is promoted (rights are not copied from the master)"
	}
	const mend = "see the smallest rights in docs/engines/redis.md; give these with ACL SETUSER: "
	list := func(words []string) string { return strings.Join(words, " ") }
	if len(r.hidden) > 0 {
		f.add(worst, "hidden-commands", fmt.Sprintf("the server does not know %s: %s", strings.ReplaceAll(list(r.hidden), "+", ""), then),
			"take the rename-command out of its configuration, or use a server that has all commands")
	}
	if len(r.denied) > 0 {
		f.add(worst, "rights", fmt.Sprintf("the user lacks %s: %s", list(r.denied), then), mend+list(r.denied))
	}
	if len(r.names) > 0 {
		f.add(driver.Note, "rights-names",
			fmt.Sprintf("the user may not use all names: %s would be needed for that. If it is meant for some names, all is well", list(r.names)),
			mend+list(r.names))
	}
	if len(r.listing) > 0 && granting {
		f.add(driver.Warning, "rights-listing",
			fmt.Sprintf("the user lacks %s: locks work, but cannot be listed", list(r.listing)),
			mend+list(r.listing))
	}
	if len(r.messages) > 0 {
		f.add(driver.Warning, "rights-messages",
			fmt.Sprintf("the user may not %s: those who wait ask again and again, up to 50 times a second each, instead of being "+
				"told", strings.Join(r.messages, ", nor ")),
			mend+list(r.channels))
	}
	if len(r.spare) > 0 && granting {
		f.add(driver.Note, "rights-spare", fmt.Sprintf("the user lacks %s, without which all works, mostly", list(r.spare)), mend+list(r.spare))
	}
	if r.untold {
		f.add(driver.Note, "rights-untold", "the server does not tell what the user may do, so it was not looked at", "nothing")
	}
	return f.all
}
