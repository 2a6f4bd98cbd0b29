// Package health finds what endangers locks on a Redis server, by what the server says of itself.
package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Findings collects the findings about one server.
type Findings struct {
	Server string
	All    []driver.Finding
}

// Add adds a finding.
func (f *Findings) Add(s driver.Severity, code, text, fix string) {
	f.All = append(f.All, driver.Finding{Severity: s, Code: code, Server: f.Server, Text: text, Fix: fix})
}

// Report is what a server says of itself.
type Report struct {
	Info      map[string]string // what INFO says; empty if the user may not read it
	Config    map[string]string // what CONFIG GET says; empty if the user may not read it
	IsReplica bool              // a master names it as its replica
}

// ReadInfo reads the reply of INFO.
func ReadInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[field] = value
		}
	}
	return fields
}

// relevantSettings are the settings that an examination reads.
var relevantSettings = []string{
	"save", "appendfsync", "stop-writes-on-bgsave-error",
	"min-replicas-to-write", "min-replicas-max-lag", "cluster-node-timeout",
}

// ReadSettings reads settings, if the user may. It leaves out those that INFO reports.
func ReadSettings(ctx context.Context, c redis.Cmdable) (map[string]string, error) {
	settings := map[string]string{}
	answers, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range relevantSettings {
			p.ConfigGet(ctx, name)
		}
		return nil
	})
	for _, a := range answers {
		if a, ok := a.(*redis.MapStringStringCmd); ok && a.Err() == nil {
			maps.Copy(settings, a.Val())
		}
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return settings, nil // JudgeSettings reports it
	}
	return settings, err
}

// MeasureClock measures the round trip to a server, and reads its clock.
func MeasureClock(ctx context.Context, c redis.Cmdable, s *driver.Server) error {
	for range 5 {
		sent := time.Now()
		at, err := c.Time(ctx).Result()
		took := time.Since(sent)
		if err != nil {
			return err
		}
		if s.RoundTrip < 0 || took < s.RoundTrip {
			s.RoundTrip, s.HasClock = took, true
			s.Ahead = at.Sub(sent.Round(0).Add(took / 2))
		}
	}
	return nil
}

// maxExamineTime is how long an examination waits for servers.
const maxExamineTime = 3 * time.Second

// TimeToReport returns a context that ends before its parent, at most 3 s from now, so that time is left to report
// servers that did not answer.
func TimeToReport(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := maxExamineTime
	if end, limited := ctx.Deadline(); limited {
		limit = min(limit, time.Until(end)/3*2)
	}
	return context.WithTimeout(ctx, limit)
}

// SilentError returns the error for a server that did not answer, as the contract of engines defines it.
func SilentError(err error) error {
	var timeout interface{ Timeout() bool }
	timedOut := errors.As(err, &timeout) && timeout.Timeout()
	if timedOut || errors.Is(err, context.DeadlineExceeded) {
		return driver.ErrSilent
	}
	return err
}

// JudgeMemory finds what happens when the server's memory is full. expiring says what the keys that expire are.
func (r Report) JudgeMemory(f *Findings, expiring string) {
	limit, policy := r.Number("maxmemory"), r.Info["maxmemory_policy"]
	evicts := policy != "noeviction" && policy != ""
	what := "any keys: locks, and the last tokens of names"
	if strings.HasPrefix(policy, "volatile-") {
		what = "keys that expire: " + expiring
	}
	switch {
	case limit == 0 && evicts:
		f.Add(driver.Note, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s. It does nothing as long as there is no maxmemory; then it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts && r.IsReplica:
		f.Add(driver.Warning, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: once this replica is promoted and its memory is full, it "+
				"removes %s", policy, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
	case evicts:
		f.Add(driver.Critical, "eviction-policy",
			fmt.Sprintf("maxmemory-policy is %s: when the memory is full (%d of %d MB are used), it "+
				"removes %s. Then two may hold a lock, and tokens may go back",
				policy, r.usedMemory()>>20, limit>>20, what),
			"CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; "+
				"keep what may be evicted on another server")
	case limit > 0 && !r.IsReplica && r.usedMemory() >= limit:
		f.Add(driver.Critical, "memory-full",
			fmt.Sprintf("all of its memory (%d MB) is used: "+
				"locks that are held are renewed, but no others are granted", limit>>20),
			"raise maxmemory, or remove other data")
	case limit > 0 && !r.IsReplica && r.usedMemory() >= limit/10*9:
		f.Add(driver.Warning, "memory-nearly-full",
			fmt.Sprintf("%d of %d MB of its memory are used: when it is full, no lock can be granted",
				r.usedMemory()>>20, limit>>20),
			"raise maxmemory, or remove other data")
	}
}

// usedMemory returns how much memory counts for maxmemory.
func (r Report) usedMemory() int64 {
	return r.Number("used_memory") - r.Number("mem_not_counted_for_evict")
}

// Number returns a field of INFO as a number, 0 if it is none.
func (r Report) Number(field string) int64 {
	n, err := strconv.ParseInt(r.Info[field], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Durability says how much of its data a server has again after a restart.
type Durability int

const (
	DurableNothing Durability = iota
	DurableSnapshots
	DurableEverySecond
	DurableEverything
	DurableAppended // written to the append-only file, but how soon is not known
)

// Durability returns how much of its data the server has again after a restart.
func (r Report) Durability() Durability {
	switch fsync := r.Config["appendfsync"]; {
	case r.Info["aof_enabled"] == "1" && fsync == "always":
		return DurableEverything
	case r.Info["aof_enabled"] == "1" && fsync == "":
		return DurableAppended
	case r.Info["aof_enabled"] == "1":
		return DurableEverySecond
	case r.Config["save"] != "":
		return DurableSnapshots
	}
	return DurableNothing
}

// JudgeSettings says so if no settings could be read.
func (r Report) JudgeSettings(f *Findings) {
	if len(r.Config) == 0 {
		f.Add(driver.Note, "config-unreadable",
			"settings could not be read (CONFIG GET is refused), "+
				"so it is not known how often the disk is written, "+
				"whether failed saving stops writes, and how replicas stop a master",
			"nothing, or ACL SETUSER with +config|get for the user of the doctor alone: "+
				"it also reads requirepass and masterauth")
	}
}

// JudgePersistence finds what a restart would lose, and whether saving fails. then says what follows if locks are
// forgotten.
func (r Report) JudgePersistence(f *Findings, then string) {
	switch r.Durability() {
	case DurableNothing:
		if len(r.Config) == 0 {
			break // it may write snapshots
		}
		f.Add(driver.Note, "persistence-off",
			"it keeps nothing on disk: a restart forgets all locks. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case DurableSnapshots:
		f.Add(driver.Note, "persistence-snapshots",
			"it writes snapshots only: a restart forgets the locks since the last one. "+then,
			"nothing, or appendonly yes, so that holders keep their locks over a short restart")
	case DurableEverySecond:
		f.Add(driver.Note, "persistence-everysec",
			"it writes to the disk once a second, or when the system likes: a crash of the machine "+
				"forgets the locks of the last second or more. "+then,
			"nothing, or appendfsync always")
	}
	snapshot := r.Info["rdb_last_bgsave_status"] == "err"
	log := r.Info["aof_enabled"] == "1" && r.Info["aof_last_write_status"] == "err"
	stops, known := r.Config["stop-writes-on-bgsave-error"]
	switch fix := "read its log, and free space on its disk; or stop-writes-on-bgsave-error no"; {
	case log, snapshot && stops == "yes" && r.Config["save"] != "":
		f.Add(driver.Critical, "saving-fails",
			"it could not write to its disk, and refuses all changes: no lock can be granted or renewed",
			fix)
	case snapshot && !known:
		f.Add(driver.Warning, "saving-fails",
			"it could not write to its disk: unless stop-writes-on-bgsave-error is no, which may not be read, "+
				"it refuses all locks and renewals",
			fix)
	case snapshot:
		f.Add(driver.Note, "saving-fails", "its last snapshot could not be written", fix)
	}
}

// JudgeClients finds out whether the server has nearly too many clients.
func (r Report) JudgeClients(f *Findings) {
	limit, now := r.Number("maxclients"), r.Number("connected_clients")
	if limit > 0 && now*10 >= limit*9 {
		f.Add(driver.Warning, "clients-nearly-full",
			fmt.Sprintf("%d of %d connections are in use: once all are, new ones are refused, and with "+
				"them locks and messages to waiters", now, limit),
			"raise maxclients, or find out who keeps so many")
	}
}

// JudgeConnection returns what others can do on the connection to a server. scheme says which URLs have TLS.
func JudgeConnection(server string, weak exposure.Weakness, scheme string) []driver.Finding {
	f := &Findings{Server: server}
	severity := driver.Note
	if weak.Exposed {
		severity = driver.Warning
	}
	f.Add(severity, weak.Code, weak.Text, "TLS on the server (tls-port), and "+scheme+" in the URL")
	return f.All
}

// UnusedPassword is the finding about a password that the server does not check.
func UnusedPassword(server string) driver.Finding {
	f := &Findings{Server: server}
	f.Add(driver.Warning, "password-unused",
		"there is a password, but the server does not ask for one: whoever reaches it can take and release all "+
			"locks",
		"requirepass in the configuration of the server, or leave out the password")
	return f.All[0]
}
