package redis

import (
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// judgeReplication finds what a failover would lose.
func (e *Engine) judgeReplication(f *health.Findings, v *serverReport) {
	online, all := v.health().JudgeReplicas(f)
	f.JudgeConfirming(e.replicas, online)
	if all == 0 {
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
	setting, stops := "min-replicas-max-lag", time.Duration(0)
	if r.info.isCluster() {
		setting, stops = "cluster-node-timeout", r.health().Duration("cluster-node-timeout", time.Millisecond)
	} else if stops = r.health().JudgeMinReplicas(f, e.client); stops == 0 {
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

// judgeAll finds what concerns all servers together.
func (e *Engine) judgeAll(reports []*serverReport) []driver.Finding {
	f := &health.Findings{}
	e.judgeGuardOff(f, reports)
	var all []health.Asked
	for _, r := range reports {
		all = append(all, health.Asked{Server: r.server, Err: r.errNotAsked})
	}
	return append(f.All, health.JudgeTogether(all)...)
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
