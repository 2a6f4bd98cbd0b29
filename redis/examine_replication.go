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
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// maxReplicaSilence is how long a replica may be silent. A healthy replica reports its offset once a second.
const maxReplicaSilence = 10 * time.Second

// judgeReplication finds what a failover would lose.
func (e *Engine) judgeReplication(f *health.Findings, v *serverReport) {
	following := readReplicas(v.infoFields)
	online := 0
	for _, r := range following {
		switch {
		case r.state != "online":
			f.Add(driver.Warning, "replica-down",
				fmt.Sprintf("its replica %s is out of sync (%s): a failover to it loses more than necessary, "+
					"or is impossible", r.address, r.state),
				"look at the replica's log, and at repl-backlog-size")
		case r.lag > maxReplicaSilence:
			f.Add(driver.Warning, "replica-lag",
				fmt.Sprintf("its replica %s last reported %s ago: a failover to it loses all locks since then",
					r.address, r.lag),
				"look at the replica, and at the network between them")
		default:
			online++
		}
	}
	if e.replicas > online {
		f.Add(driver.Critical, "too-few-replicas",
			fmt.Sprintf("%d replicas must confirm each lock, and %d can: no lock can be granted", e.replicas, online),
			"start replicas, or ask for fewer")
	}
	if len(following) == 0 {
		return
	}
	if e.replicas == 0 && e.guard {
		f.Add(driver.Note, "replicas-without-wait",
			"replicas lag a little behind: a lock that was granted just before a failover may be lost. "+
				"The failover guard keeps others out until that lease has ended",
			"nothing, or WithReplicas (replicas=1), at the price of a round trip between the servers")
	}
	e.judgeTwoMasters(f, v)
}

// judgeTwoMasters finds out whether a master that is cut off could go on granting while its successor grants, too.
func (e *Engine) judgeTwoMasters(f *health.Findings, r *serverReport) {
	if len(r.config) == 0 {
		return // judge reports that
	}
	setting, stops := "min-replicas-max-lag", r.durationSetting("min-replicas-max-lag", time.Second)
	if r.info.isCluster() {
		setting, stops = "cluster-node-timeout", r.durationSetting("cluster-node-timeout", time.Millisecond)
	} else if minReplicas := r.durationSetting("min-replicas-to-write", 1); minReplicas == 0 || stops == 0 {
		severity, who := driver.Note, "If somebody or something promotes a replica while this master is only cut off, "
		if e.usesSentinels() {
			severity, who = driver.Warning, "If Sentinels promote a replica while this master is only cut off, "
		}
		f.Add(severity, "min-replicas",
			"min-replicas-to-write is 0. "+who+"both grant the same locks",
			"CONFIG SET min-replicas-to-write 1, min-replicas-max-lag 10, on all servers and in redis.conf")
		return
	}
	if longest := e.maxTTL - stops - 2*time.Second; e.guard && longest < e.maxTTL/2 {
		f.Add(driver.Warning, "two-masters",
			fmt.Sprintf("a master that is cut off goes on for %s (%s). Its successor grants nothing for %s "+
				"(WithMaxTTL), which only covers leases with a ttl of up to %s",
				stops, setting, e.maxTTL, max(longest, 0)),
			"make "+setting+" smaller, or WithMaxTTL (max_ttl) longer than it by more than the longest ttl in use")
	}
}

// durationSetting returns a setting as a duration, counted in the given unit.
func (r *serverReport) durationSetting(setting string, unit time.Duration) time.Duration {
	n, err := strconv.Atoi(r.config[setting])
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}

// usesSentinels reports whether the client asks Sentinels for the master.
func (e *Engine) usesSentinels() bool {
	c, ok := e.client.(*redis.Client)
	return ok && c.Options().Addr == failoverAddress
}

// judgeAll finds what concerns all servers together.
func (e *Engine) judgeAll(reports []*serverReport) []driver.Finding {
	f := &health.Findings{}
	e.judgeGuardOff(f, reports)
	unlooked := 0
	var versions []string
	for _, r := range reports {
		if version := r.server.Version; version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		switch {
		case r.errNotAsked == nil:
		case errors.Is(r.errNotAsked, errCannotReachReplicas):
			unlooked++
		case isUserRefused(r.errNotAsked):
			f.Server = r.server.Name
			f.Add(driver.Warning, "replica-rights",
				fmt.Sprintf("the replica does not let the user in: no lock can be granted once it is promoted "+
					"(users are not copied from the master): %s", r.errNotAsked),
				"create the user there with the same password and rights")
		default:
			f.Server = r.server.Name
			f.Add(driver.Note, "replica-not-looked-at",
				fmt.Sprintf("the replica could not be reached from here, so its settings were not "+
					"checked: %s", silentError(r.errNotAsked)),
				"look at its maxmemory-policy and its users: they count once it is promoted")
		}
	}
	f.Server = ""
	if unlooked > 0 {
		f.Add(driver.Note, "replica-not-looked-at",
			fmt.Sprintf("the settings of %d replicas were not checked: %s", unlooked, errCannotReachReplicas),
			"use redis.Open or leasehold doctor, or look at their maxmemory-policy and users")
	}
	if len(versions) > 1 {
		f.Add(driver.Note, "different-versions",
			"the servers have different versions: "+strings.Join(versions, ", "),
			"nothing, or update all to the same")
	}
	return f.All
}

// isUserRefused reports whether a server does not accept the user or the password.
func isUserRefused(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGPASS") ||
		redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "NOPERM")
}

// judgeGuardOff finds what it means on these servers that the guard is off.
func (e *Engine) judgeGuardOff(f *health.Findings, reports []*serverReport) {
	if e.guard {
		return
	}
	forgets := false
	for _, r := range reports {
		forgets = forgets || r.isReplica || r.health().Durability() != health.DurableEverything
	}
	const text, fix = "the failover guard is off (WithoutFailoverGuard, guard=off): " +
		"after a restart or a failover that forgets locks, others " +
		"are granted what is still held", "leave guard=off away, unless locks only save work"
	if forgets {
		f.Add(driver.Warning, "guard-off", text, fix)
		return
	}
	f.Add(driver.Note, "guard-off",
		text+". The disk of this server forgets none, unless it is restored from a backup", fix)
}
