package redisson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/internal/exposure"
	"github.com/leasehold-go/leasehold/redis/internal/health"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// Examine implements [driver.Operator]. It lists the masters, each followed by its replicas. An engine of [Open] asks
// the replicas, too. An engine of New knows of them only what their master says. It leaves a small script in the
// cache of each server, as all requests do, and changes nothing else.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.connections.IsClosed() {
		return driver.Examination{}, errClosed
	}
	x, err := detach.Do(ctx, &e.workers, e.examine, nil)
	if err != nil {
		return driver.Examination{}, reply.NoEffect(err)
	}
	return x, nil
}

// examined is what an examination found out about a server.
type examined struct {
	health.Report
	server         driver.Server
	rights         rights
	passwordUnused bool
	errNotAsked    error // why only its master was asked about this replica
}

func newExamined(name string) *examined {
	return &examined{server: driver.Server{Name: name, Votes: true, Uptime: -1, RoundTrip: -1}}
}

func (e *Engine) examine(ctx context.Context) (x driver.Examination, _ error) {
	ctx, cancel := health.TimeToReport(ctx)
	defer cancel()
	var mu sync.Mutex
	var all []*examined
	err := e.onEachMaster(ctx, func(ctx context.Context, c redis.Cmdable) error {
		s := newExamined("")
		err := s.ask(ctx, e, c)
		if err != nil && !e.isCluster {
			return explain(err)
		}
		s.server.Err = health.SilentError(explain(err))
		s.server.Name = e.serverName(c, s)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
		return nil
	})
	switch {
	case err != nil && strings.Contains(err.Error(), "cluster support disabled"):
		x.Findings = append(x.Findings, driver.Finding{
			Severity: driver.Critical, Code: "wrong-mode",
			Text: "the server is no part of a Cluster, but is used like one: no lock can be granted",
			Fix:  "use a redisson:// or redisson+sentinel:// URL, or a client for one server",
		})
		return x, nil
	case err != nil:
		return x, err
	}
	slices.SortFunc(all, func(a, b *examined) int { return strings.Compare(a.server.Name, b.server.Name) })
	var asked []health.Asked
	add := func(s *examined) {
		x.Servers = append(x.Servers, s.server)
		x.Findings = append(x.Findings, e.judge(s)...)
		asked = append(asked, health.Asked{Server: s.server, Err: s.errNotAsked})
	}
	for i, replicas := range e.examineReplicas(ctx, all) {
		add(all[i])
		for _, r := range replicas {
			add(r)
		}
	}
	x.Findings = append(x.Findings, health.JudgeTogether(asked)...)
	if c, ok := e.client.(*redis.ClusterClient); ok {
		x.Findings = append(x.Findings, judgeCoverage(ctx, c)...)
	}
	if e.opened != nil {
		x.Findings = append(x.Findings, exposure.FindReadable(e.opened.SecretFiles()...)...)
	}
	return x, nil
}

// judgeCoverage finds slots of a Cluster that no master has.
func judgeCoverage(ctx context.Context, c *redis.ClusterClient) []driver.Finding {
	ranges, err := c.Do(ctx, "cluster", "slots").Slice() // the client asks for the same, so the user may
	if err != nil {
		return nil
	}
	covered := int64(0)
	for _, r := range ranges {
		if ends, _ := r.([]any); len(ends) >= 2 {
			first, _ := ends[0].(int64)
			last, _ := ends[1].(int64)
			covered += last - first + 1
		}
	}
	return health.JudgeCoverage(int(covered))
}

// examineReplicas examines the replicas of all masters.
func (e *Engine) examineReplicas(ctx context.Context, masters []*examined) [][]*examined {
	all := make([][]*examined, len(masters))
	var work sync.WaitGroup
	for i, m := range masters {
		replicas := m.Replicas()
		all[i] = make([]*examined, len(replicas))
		for j, r := range replicas {
			work.Go(func() { all[i][j] = e.examineReplica(ctx, r.Address) })
		}
	}
	work.Wait()
	return all
}

func (e *Engine) examineReplica(ctx context.Context, address string) *examined {
	s, err := newExamined(address), health.ErrReplicasUnreachable
	if e.opened != nil {
		c := e.opened.ToServer(address)
		defer func() { _ = c.Close() }() // it was only read from
		if err = health.SilentError(explain(s.ask(ctx, e, c))); err != nil {
			s = newExamined(address)
		}
	}
	s.IsReplica, s.errNotAsked = true, err
	s.server.Role, s.server.Votes = "replica", false
	return s
}

// serverName returns the address of a server that was asked, as far as it is known.
func (e *Engine) serverName(client redis.Cmdable, s *examined) string {
	if !e.isCluster {
		if e.opened != nil && e.opened.LastAddress() != "" {
			return e.opened.LastAddress() // behind Sentinels it is not in the options
		}
		client = e.client
	}
	if c, ok := client.(*redis.Client); ok && c.Options().Addr != health.FailoverAddress {
		return c.Options().Addr
	}
	return "port " + s.Info["tcp_port"]
}

// ask asks a server everything. What the user may not read is no error.
func (s *examined) ask(ctx context.Context, e *Engine, c redis.Cmdable) error {
	text, err := c.Info(ctx).Result()
	if err != nil && !isDenial(err) {
		return err
	}
	s.noteInfo(text)
	if err := health.MeasureClock(ctx, c, &s.server); err != nil && !isDenial(err) {
		return err
	}
	if s.Config, err = health.ReadSettings(ctx, c); err != nil {
		return err
	}
	s.passwordUnused = e.opened != nil && e.opened.IsPasswordUnused(ctx, c)
	if s.mode() == "sentinel" || s.isTooOld() || s.Info["loading"] == "1" {
		return nil // it runs no scripts
	}
	return s.rights.ask(ctx, e, c)
}

// noteInfo takes in the reply of INFO.
func (s *examined) noteInfo(text string) {
	s.Info = health.ReadInfo(text)
	s.server.Version = s.Info["redis_version"]
	if valkey := s.Info["valkey_version"]; valkey != "" {
		s.server.Version = "Valkey " + valkey
	}
	switch s.server.Role = s.Info["role"]; s.server.Role {
	case "slave":
		s.server.Role, s.server.Votes = "replica", false
	case "sentinel":
		s.server.Votes = false
	}
	if seconds, err := strconv.Atoi(s.Info["uptime_in_seconds"]); err == nil {
		s.server.Uptime = time.Duration(seconds) * time.Second
	}
}

// mode returns what kind of server it is. Valkey has a word of its own for that.
func (s *examined) mode() string { return cmp.Or(s.Info["redis_mode"], s.Info["server_mode"]) }

// isTooOld reports whether the server lacks commands of Redis 7.0. Valkey says with which Redis it is compatible.
func (s *examined) isTooOld() bool {
	major, _, _ := strings.Cut(s.Info["redis_version"], ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 7
}

// isDenial reports whether the server refused something because the user lacks a right.
func isDenial(err error) bool {
	answer, replied := errors.AsType[redis.Error](err)
	return replied && reply.IsDenial(strings.TrimPrefix(answer.Error(), "ERR "))
}

// judge finds what endangers locks on one server.
func (e *Engine) judge(s *examined) []driver.Finding {
	if s.server.Err != nil {
		return nil // the core reports that
	}
	f := &health.Findings{Server: s.server.Name}
	if e.judgeUsable(f, s) {
		s.rights.judge(f, !s.IsReplica)
		if len(s.Info) > 0 {
			s.JudgeMemory(f, "locks, queues and permits")
		}
		if len(s.Info) > 0 && !s.IsReplica {
			s.JudgeSettings(f)
			s.JudgePersistence(f, "Others are then granted what is still held")
			s.JudgeClients(f)
			e.judgeNoGuard(f, s)
		}
	}
	if e.opened != nil {
		if weak := e.opened.FindWeakness(s.server.Name); weak != nil {
			f.All = append(f.All, health.JudgeConnection(s.server.Name, *weak, "redissons instead of redisson")...)
		}
	}
	if s.passwordUnused {
		f.All = append(f.All, health.UnusedPassword(s.server.Name))
	}
	return f.All
}

// judgeUsable finds out whether locks can be kept on a server at all, and reports whether the rest is worth examining.
func (e *Engine) judgeUsable(f *health.Findings, s *examined) bool {
	severity, then := driver.Critical, "no lock can be granted"
	if s.IsReplica {
		severity, then = driver.Warning, "no lock can be granted once it is promoted"
	}
	switch {
	case s.mode() == "sentinel":
		f.Add(severity, "wrong-mode", "it is a Sentinel, which keeps no data: "+then,
			"use a redisson+sentinel:// URL, or NewFailoverClient")
		return false
	case s.mode() == "cluster" && !e.isCluster:
		f.Add(severity, "wrong-mode", "it is part of a Cluster, and the client is for one server: "+
			"locks whose names are on other servers cannot be granted",
			"use a redisson+cluster:// URL, or NewClusterClient")
		return false
	case s.isTooOld():
		f.Add(severity, "old-version", fmt.Sprintf("it has version %s, without commands that are needed: %s",
			s.server.Version, then), "update it to 7.0 or later")
		return false
	case s.Info["loading"] == "1":
		f.Add(severity, "loading", "it is loading its data, and refuses requests until that is done: "+then,
			"wait")
		return false
	case s.server.Role == "replica" && !s.IsReplica:
		f.Add(severity, "replica-as-node", fmt.Sprintf("it is a replica of %s:%s, and refuses all changes: %s",
			s.Info["master_host"], s.Info["master_port"], then), "name the master, or the Sentinels that know it")
		return false
	}
	return true
}

// judgeNoGuard says what a restart or a failover means, as Redisson's keys have no failover guard.
func (e *Engine) judgeNoGuard(f *health.Findings, s *examined) {
	online, replicas := s.JudgeReplicas(f)
	f.JudgeConfirming(e.confirm.Replicas, online)
	if replicas > 0 && len(s.Config) > 0 && !e.isCluster {
		_ = s.JudgeMinReplicas(f, e.client)
	}
	const fix = "nothing, if locks only save work; else give resources the token, or use the engine redis"
	switch {
	case replicas > 0:
		f.Add(driver.Warning, "no-guard", "Redisson's locks have no failover guard: after a failover the new master "+
			"grants at once what the old one had granted and not yet copied", fix)
	case s.Durability() != health.DurableEverything:
		f.Add(driver.Warning, "no-guard", "Redisson's locks have no failover guard: after a restart that forgets "+
			"locks, others are granted at once what is still held", fix)
	}
}
