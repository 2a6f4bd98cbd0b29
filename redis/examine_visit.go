package redis

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// visit is what was seen of a server.
type visit struct {
	place    driver.Place
	follows  bool // it was found as the replica of a master
	facts    facts
	info     map[string]string // empty if it may not be read
	config   map[string]string // the same
	rights   lacks
	apart    bool  // it is one of several masters of a Cluster, and the client is for one server
	unlooked error // why a replica is known only by what its master says of it
}

func newVisit(name string) *visit {
	return &visit{place: driver.Place{Name: name, Votes: true, Uptime: -1, RoundTrip: -1}, info: map[string]string{}, config: map[string]string{}}
}

// connect calls f with a connection to one server.
type connect func(ctx context.Context, f func(redis.Cmdable) error) error

// visit looks at a server, of which the marker is found out if it is not given. What it may not look at is no error: that is noted.
func (e *Engine) visit(ctx context.Context, name, marker string, to connect) (*visit, error) {
	return within(ctx, math.MaxInt64, func(ctx context.Context) (*visit, error) {
		v := newVisit(name)
		err := to(ctx, func(c redis.Cmdable) error { return e.see(ctx, c, v, marker) })
		return v, explain(err)
	})
}

// see asks a server all that there is to know. An error means that there is nothing to be had from it.
func (e *Engine) see(ctx context.Context, c redis.Cmdable, v *visit, marker string) error {
	text, err := c.Info(ctx).Result()
	if err := v.rights.note(err); err != nil {
		return err
	}
	if err == nil {
		v.read(text)
	}
	if err := v.rights.note(v.measure(ctx, c)); err != nil {
		return err
	}
	if err := v.settings(ctx, c); err != nil {
		return err
	}
	if v.facts.runID == "" || v.facts.tooOld() || !v.facts.modeKnown() || v.facts.mode == modeSentinel || v.info["loading"] == "1" {
		return nil // it knows no scripts, or not those
	}
	if marker == "" {
		if marker, err = e.soleMarker(ctx, c, v); err != nil || marker == "" {
			return err
		}
	}
	if err := v.rights.note(e.askRights(ctx, c, v, marker)); err != nil {
		return err
	}
	if !e.guard || v.facts.replica {
		return nil
	}
	return v.rights.note(e.askClosed(ctx, c, v, marker))
}

// soleMarker is the marker of a server for which the client was made alone. It may be the only master of a Cluster.
func (e *Engine) soleMarker(ctx context.Context, c redis.Cmdable, v *visit) (string, error) {
	if !v.facts.cluster() {
		return e.onlyMarker(), nil
	}
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return "", v.rights.note(err)
	}
	nodes := keepers(text)
	if v.apart = len(nodes) != 1 || !nodes[0].myself; v.apart {
		return "", nil
	}
	return e.record(nodes[0].first()), nil
}

// read takes in what INFO says.
func (v *visit) read(text string) {
	for line := range strings.Lines(text) {
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			v.info[field] = value
		}
	}
	v.facts = readFacts(text)
	v.place.Version = v.facts.called()
	switch {
	case v.facts.mode == modeSentinel:
		v.place.Role, v.place.Votes = "sentinel", false
	case v.facts.replica:
		v.place.Role, v.place.Votes = "replica", false
	case v.info["role"] == "master":
		v.place.Role = "master"
	}
	if _, told := v.info["uptime_in_seconds"]; told {
		v.place.Uptime = v.facts.uptime
	}
}

// measure finds out how long an answer takes, and what the clock of the server shows.
func (v *visit) measure(ctx context.Context, c redis.Cmdable) error {
	for range 5 {
		sent := time.Now()
		at, err := c.Time(ctx).Result()
		took := time.Since(sent)
		if err != nil {
			return err
		}
		if v.place.RoundTrip < 0 || took < v.place.RoundTrip {
			v.place.RoundTrip, v.place.HasClock = took, true
			v.place.Ahead = at.Sub(sent.Round(0).Add(took / 2))
		}
	}
	return nil
}

// askClosed finds out for how long the guard keeps grants closed for an engine that meets the server now. Of a master of a Cluster it tells that of slots
// that nobody has used yet; those that were moved have times of their own.
func (e *Engine) askClosed(ctx context.Context, c redis.Cmdable, v *visit, marker string) error {
	program := e.assemble(v.facts.identity(), v.facts.cluster())
	if v.facts.cluster() {
		return e.askMaster(ctx, c, v, program, marker)
	}
	if err := c.ScriptLoad(ctx, program.text[guard]).Err(); err != nil {
		return err
	}
	m, err := readMark(c.EvalShaRO(ctx, program.sha[guard], []string{marker}, append(e.guardArgs(-1), "look")...).Result())
	v.place.Closed = m.left
	return err
}

// askMaster is askClosed for a master of a Cluster, whose record is given.
func (e *Engine) askMaster(ctx context.Context, c redis.Cmdable, v *visit, program *program, record string) error {
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	me, found := self(text)
	if !found {
		return nil
	}
	if err := c.ScriptLoad(ctx, program.text[guardMaster]).Err(); err != nil {
		return err
	}
	list, err := numbers(c.EvalShaRO(ctx, program.sha[guardMaster], []string{record},
		e.maxTTL.Milliseconds(), me.epoch, me.ranges(), me.first(), "", "", "look").Result())
	if err != nil {
		return err
	}
	v.place.Closed = span(list[2])
	return nil
}

// lookedUp are the settings that matter.
var lookedUp = []string{
	"save", "appendfsync", "stop-writes-on-bgsave-error", "min-replicas-to-write", "min-replicas-max-lag", "cluster-node-timeout",
}

// settings reads them, if they may be read. What INFO says of settings is not asked for again.
func (v *visit) settings(ctx context.Context, c redis.Cmdable) error {
	answers, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range lookedUp {
			p.ConfigGet(ctx, name)
		}
		return nil
	})
	for _, a := range answers {
		if a, ok := a.(*redis.MapStringStringCmd); ok && a.Err() == nil {
			maps.Copy(v.config, a.Val())
		}
	}
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil // judge says so
	}
	return err
}

// silence is the error of a place that has not answered, as the contract has it.
func silence(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoAnswer) || errors.As(err, &timeout) && timeout.Timeout() {
		return driver.ErrSilent
	}
	return err
}
