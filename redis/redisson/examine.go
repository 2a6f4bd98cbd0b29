package redisson

import (
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

// maxExamineTime is how long an examination waits for servers.
const maxExamineTime = 3 * time.Second

// Examine implements [driver.Operator]. It lists the servers that grant leases. Of their replicas it knows what these
// servers say of them. It leaves a small script in the cache of each server, as all requests do, and changes nothing
// else.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.connections.IsClosed() {
		return driver.Examination{}, errClosed
	}
	limit := maxExamineTime
	if end, limited := ctx.Deadline(); limited { // time is left to report servers that did not answer
		limit = min(limit, time.Until(end)/3*2)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	x, err := detach.Do(limited, &e.workers, e.examine, nil)
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
}

func (e *Engine) examine(ctx context.Context) (x driver.Examination, _ error) {
	var mu sync.Mutex
	var all []*examined
	err := e.onEachMaster(ctx, func(ctx context.Context, c redis.Cmdable) error {
		s := &examined{server: driver.Server{Name: e.serverName(c), Votes: true, Uptime: -1, RoundTrip: -1}}
		if err := s.ask(ctx, e, c); err != nil {
			if !e.isCluster {
				return explain(err)
			}
			s.server.Err = health.SilentError(explain(err))
		}
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
	for _, s := range all {
		x.Servers = append(x.Servers, s.server)
		x.Findings = append(x.Findings, e.judge(s)...)
	}
	if e.opened != nil {
		x.Findings = append(x.Findings, exposure.FindReadable(e.opened.SecretFiles()...)...)
	}
	return x, nil
}

// serverName returns the address of a server, as far as it is known.
func (e *Engine) serverName(c redis.Cmdable) string {
	if e.isCluster {
		if c, ok := c.(*redis.Client); ok {
			return c.Options().Addr
		}
	}
	if e.opened != nil {
		return e.opened.LastAddress() // behind Sentinels it is not in the options
	}
	if c, ok := e.client.(*redis.Client); ok {
		return c.Options().Addr
	}
	return ""
}

// ask asks a server everything. What the user may not read is no error.
func (s *examined) ask(ctx context.Context, e *Engine, c redis.Cmdable) error {
	text, err := c.Info(ctx).Result()
	if err != nil && !isDenial(err) {
		return err
	}
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
	if err := health.MeasureClock(ctx, c, &s.server); err != nil && !isDenial(err) {
		return err
	}
	if s.Config, err = health.ReadSettings(ctx, c); err != nil {
		return err
	}
	s.passwordUnused = e.opened != nil && e.opened.IsPasswordUnused(ctx, c)
	if s.Info["redis_mode"] == "sentinel" || s.Info["loading"] == "1" {
		return nil // it runs no scripts
	}
	return s.rights.ask(ctx, e, c)
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
		s.rights.judge(f)
		if len(s.Info) > 0 {
			s.JudgeMemory(f, "locks, queues and permits")
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
	const then = "no lock can be granted"
	switch {
	case s.Info["redis_mode"] == "sentinel":
		f.Add(driver.Critical, "wrong-mode", "it is a Sentinel, which keeps no data: "+then,
			"use a redisson+sentinel:// URL, or NewFailoverClient")
		return false
	case s.Info["redis_mode"] == "cluster" && !e.isCluster:
		f.Add(driver.Critical, "wrong-mode", "it is part of a Cluster, and the client is for one server: "+
			"locks whose names are on other servers cannot be granted",
			"use a redisson+cluster:// URL, or NewClusterClient")
		return false
	case s.Info["loading"] == "1":
		f.Add(driver.Critical, "loading", "it is loading its data, and refuses requests until that is done: "+then,
			"wait")
		return false
	case s.server.Role == "replica":
		f.Add(driver.Critical, "replica-as-node", fmt.Sprintf("it is a replica of %s:%s, and refuses all changes: %s",
			s.Info["master_host"], s.Info["master_port"], then), "name the master, or the Sentinels that know it")
		return false
	}
	return true
}

// judgeNoGuard says what a restart or a failover means, as Redisson's keys have no failover guard.
func (e *Engine) judgeNoGuard(f *health.Findings, s *examined) {
	replicas, _ := strconv.Atoi(s.Info["connected_slaves"])
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
