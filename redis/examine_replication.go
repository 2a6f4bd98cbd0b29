package redis

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// mostBehind is how long a replica may be silent. One that is well tells its master once a second how far it is.
const mostBehind = 10 * time.Second

// replication finds what a failover would forget.
func (e *Engine) replication(f *findings, v *visit) {
	following := readFollowers(v.info)
	online := 0
	for _, r := range following {
		switch {
		case r.state != "online":
			f.add(driver.Warning, "replica-down",
				fmt.Sprintf("its replica %s is not in step (%s): a failover to it forgets more than it must, "+
					"or cannot be", r.address, r.state),
				"look at the replica's log, and at repl-backlog-size")
		case r.lag > mostBehind:
			f.add(driver.Warning, "replica-lag",
				fmt.Sprintf("its replica %s was heard of %s ago: a failover to it forgets all locks since", r.address, r.lag),
				"look at the replica, and at the network between them")
		default:
			online++
		}
	}
	if e.replicas > online {
		f.add(driver.Critical, "too-few-replicas",
			fmt.Sprintf("%d replicas must confirm each lock, and %d can: no lock can be had", e.replicas, online),
			"start replicas, or ask for fewer")
	}
	if len(following) == 0 {
		return
	}
	if e.replicas == 0 && e.guard {
		f.add(driver.Note, "replicas-without-wait",
			"replicas follow a little behind: who was granted a lock just before a failover may lose "+
				"it. The failover guard keeps others out until that lease has ended",
			"nothing, or WithReplicas (replicas=1), at the price of a round trip between the servers")
	}
	e.twoMasters(f, v)
}

// twoMasters finds that a master that was cut off could go on to grant beside its successor.
func (e *Engine) twoMasters(f *findings, v *visit) {
	if len(v.config) == 0 {
		return // which judge tells
	}
	setting, stops := "min-replicas-max-lag", v.seconds("min-replicas-max-lag", time.Second)
	if v.facts.cluster() {
		setting, stops = "cluster-node-timeout", v.seconds("cluster-node-timeout", time.Millisecond)
	} else if least := v.seconds("min-replicas-to-write", 1); least == 0 || stops == 0 {
		severity, who := driver.Note, "If somebody or something promotes a replica while this master is only cut off, "
		if e.sentinels() {
			severity, who = driver.Warning, "If Sentinels promote a replica while this master is only cut off, "
		}
		f.add(severity, "min-replicas",
			"min-replicas-to-write is 0. "+who+"both grant the same locks",
			"CONFIG SET min-replicas-to-write 1, min-replicas-max-lag 10, on all servers and in redis.conf")
		return
	}
	if longest := e.maxTTL - stops - 2*time.Second; e.guard && longest < e.maxTTL/2 {
		f.add(driver.Warning, "two-masters",
			fmt.Sprintf("a master that is cut off goes on for %s (%s). Its successor grants nothing for %s "+
				"(WithMaxTTL), which only covers leases with a ttl of up to %s",
				stops, setting, e.maxTTL, max(longest, 0)),
			"make "+setting+" smaller, or WithMaxTTL (max_ttl) longer than it by more than the longest ttl in use")
	}
}

// seconds is a setting as so many units.
func (v *visit) seconds(setting string, unit time.Duration) time.Duration {
	n, err := strconv.Atoi(v.config[setting])
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}

// sentinels reports whether the client asks Sentinels for the master.
func (e *Engine) sentinels() bool {
	c, ok := e.client.(*redis.Client)
	return ok && c.Options().Addr == failoverAddress
}

// judgeTogether finds what concerns all servers.
func (e *Engine) judgeTogether(all []*visit) []driver.Finding {
	f := &findings{}
	e.unguarded(f, all)
	unlooked := 0
	var versions []string
	for _, v := range all {
		if version := v.place.Version; version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		switch {
		case v.unlooked == nil:
		case errors.Is(v.unlooked, errByWord):
			unlooked++
		case refusesUser(v.unlooked):
			f.place = v.place.Name
			f.add(driver.Warning, "replica-rights",
				fmt.Sprintf("the replica does not let the user in: no lock can be had once it is promoted "+
					"(users are not copied from the master): %s", v.unlooked),
				"create the user there with the same password and rights")
		default:
			f.place = v.place.Name
			f.add(driver.Note, "replica-not-looked-at",
				fmt.Sprintf("the replica could not be reached from here, so its settings were not "+
					"looked at: %s", silence(v.unlooked)),
				"look at its maxmemory-policy and its users: they count once it is promoted")
		}
	}
	f.place = ""
	if unlooked > 0 {
		f.add(driver.Note, "replica-not-looked-at",
			fmt.Sprintf("the settings of %d replicas were not looked at: %s", unlooked, errByWord),
			"use redis.Open or leasehold doctor, or look at their maxmemory-policy and users")
	}
	if len(versions) > 1 {
		f.add(driver.Note, "different-versions", "the servers have different versions: "+strings.Join(versions, ", "), "nothing, or update all to the same")
	}
	return f.all
}

// refusesUser reports whether a server does not know the user or the password.
func refusesUser(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGPASS") || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "NOPERM")
}

// unguarded finds what the lack of the guard means on these servers.
func (e *Engine) unguarded(f *findings, all []*visit) {
	if e.guard {
		return
	}
	forgets := false
	for _, v := range all {
		forgets = forgets || v.follows || v.persists() != everything
	}
	const text, mend = "the failover guard is off (WithoutFailoverGuard, guard=off): after a restart or a failover that forgets locks, others " +
		"are granted what is still held", "leave guard=off away, unless locks only save work"
	if forgets {
		f.add(driver.Warning, "guard-off", text, mend)
		return
	}
	f.add(driver.Note, "guard-off", text+". The disk of this server forgets none, unless it is restored from a backup", mend)
}
