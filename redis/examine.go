package redis

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/exposure"
	"github.com/leasehold-go/leasehold/redis/internal/health"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// Examine implements [driver.Operator]. It lists the masters, each followed by its replicas. An engine of [Open] asks
// the replicas, too. An engine of [New] knows of them only what their master says.
//
// It leaves two small scripts in the cache of each server, as all requests do, and changes nothing else.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.subscriptions.IsClosed() {
		return driver.Examination{}, errEngineClosed
	}
	// Single requests cannot be abandoned when ctx ends, but the examination as a whole can.
	x, err := detach.Do(ctx, &e.workers, e.examine, nil)
	if err != nil {
		return driver.Examination{}, reply.NoEffect(err)
	}
	return x, nil
}

func (e *Engine) examine(ctx context.Context) (driver.Examination, error) {
	ctx, cancel := health.TimeToReport(ctx)
	defer cancel()
	masters, findings, err := e.examineMasters(ctx)
	if err != nil {
		return driver.Examination{}, err
	}
	x := driver.Examination{Findings: findings}
	add := func(r *serverReport) {
		x.Servers = append(x.Servers, r.server)
		x.Findings = append(append(x.Findings, e.judge(r)...), e.judgeConnection(r.server.Name)...)
		if r.passwordUnused {
			x.Findings = append(x.Findings, health.UnusedPassword(r.server.Name))
		}
	}
	var reports []*serverReport
	for i, followers := range e.examineReplicas(ctx, masters) {
		add(masters[i])
		reports = append(reports, masters[i])
		for _, f := range followers {
			add(f)
			reports = append(reports, f)
		}
	}
	x.Findings = append(x.Findings, e.judgeAll(reports)...)
	if e.opened != nil {
		x.Findings = append(x.Findings, exposure.FindReadable(e.opened.SecretFiles()...)...)
	}
	return x, nil
}

// judgeConnection finds out whether others can listen on the connection to a server, if the engine owns its client.
func (e *Engine) judgeConnection(address string) []driver.Finding {
	if e.opened == nil {
		return nil
	}
	weak := e.opened.FindWeakness(address)
	if weak == nil {
		return nil
	}
	return health.JudgeConnection(address, *weak, "rediss or redlocks instead of redis or redlock")
}
