package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/health"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// serverReport is what an examination found out about a server.
type serverReport struct {
	server         driver.Server
	isReplica      bool // a master names it as its replica
	info           serverInfo
	infoFields     map[string]string // what INFO says; empty if the user may not read it
	config         map[string]string // what CONFIG GET says; empty if the user may not read it
	rights         missingRights
	passwordUnused bool  // it takes any password
	oneOfSeveral   bool  // it is one of several masters of a Cluster, and the client is for one server
	errNotAsked    error // why only its master was asked about this replica
}

func newServerReport(name string) *serverReport {
	return &serverReport{
		server:     driver.Server{Name: name, Votes: true, Uptime: -1, RoundTrip: -1},
		infoFields: map[string]string{},
		config:     map[string]string{},
	}
}

// connect calls f with a connection to one server.
type connect func(ctx context.Context, f func(redis.Cmdable) error) error

// examineServer examines a server. It finds out the marker's key if it is empty. What the user may not read is noted
// and is no error.
func (e *Engine) examineServer(ctx context.Context, name, marker string, to connect) (*serverReport, error) {
	return detach.Do(ctx, &e.workers, func(ctx context.Context) (*serverReport, error) {
		r := newServerReport(name)
		err := to(ctx, func(c redis.Cmdable) error { return e.askServer(ctx, c, r, marker) })
		return r, explainError(err)
	}, nil)
}

// askServer asks a server everything. An error means that the server gives no usable answer.
func (e *Engine) askServer(ctx context.Context, c redis.Cmdable, r *serverReport, marker string) error {
	text, err := c.Info(ctx).Result()
	if err := r.rights.noteDenied(err); err != nil {
		return err
	}
	if err == nil {
		r.noteInfo(text)
	}
	if err := r.rights.noteDenied(health.MeasureClock(ctx, c, &r.server)); err != nil {
		return err
	}
	if r.config, err = health.ReadSettings(ctx, c); err != nil {
		return err
	}
	r.passwordUnused = e.opened != nil && e.opened.IsPasswordUnused(ctx, c)
	if r.info.runID == "" || r.info.isTooOld() || !r.info.isModeKnown() ||
		r.info.mode == modeSentinel || r.infoFields["loading"] == "1" {
		return nil // it cannot run our scripts
	}
	if marker == "" {
		if marker, err = e.singleMarkerKey(ctx, c, r); err != nil || marker == "" {
			return err
		}
	}
	if err := r.rights.noteDenied(e.askRights(ctx, c, r, marker)); err != nil {
		return err
	}
	if !e.guard || r.info.isReplica {
		return nil
	}
	return r.rights.noteDenied(e.askServerClosedFor(ctx, c, r, marker))
}

// singleMarkerKey returns the key of the marker of a server that is the client's only one. It may be the only master of
// a Cluster.
func (e *Engine) singleMarkerKey(ctx context.Context, c redis.Cmdable, r *serverReport) (string, error) {
	if !r.info.isCluster() {
		return e.serverMarkerKey(), nil
	}
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return "", r.rights.noteDenied(err)
	}
	nodes := mastersOf(text)
	if r.oneOfSeveral = len(nodes) != 1 || !nodes[0].myself; r.oneOfSeveral {
		return "", nil
	}
	return e.masterRecordKey(nodes[0].firstSlot()), nil
}

// noteInfo takes in the reply of INFO.
func (r *serverReport) noteInfo(text string) {
	r.infoFields = health.ReadInfo(text)
	r.info = readInfo(text)
	r.server.Version = r.info.displayVersion()
	switch {
	case r.info.mode == modeSentinel:
		r.server.Role, r.server.Votes = "sentinel", false
	case r.info.isReplica:
		r.server.Role, r.server.Votes = "replica", false
	case r.infoFields["role"] == "master":
		r.server.Role = "master"
	}
	if _, hasUptime := r.infoFields["uptime_in_seconds"]; hasUptime {
		r.server.Uptime = r.info.uptime
	}
}

// askServerClosedFor finds out for how long the guard would keep grants closed for an engine that uses the server from
// now on. For a master of a Cluster, that is the time for slots that nobody has used yet; slots that were moved have
// their own times.
func (e *Engine) askServerClosedFor(ctx context.Context, c redis.Cmdable, r *serverReport, marker string) error {
	scripts := e.newScriptSet(r.info.identity(), r.info.isCluster())
	if r.info.isCluster() {
		closedFor, err := e.askMasterClosedFor(ctx, c, scripts)
		r.server.Closed = closedFor
		return err
	}
	if err := c.ScriptLoad(ctx, scripts.text[scriptGuard]).Err(); err != nil {
		return err
	}
	args := append(e.guardArgs(-1), "look")
	reply, err := readMarkerReply(c.EvalShaRO(ctx, scripts.sha[scriptGuard], []string{marker}, args...).Result())
	r.server.Closed = reply.closedFor
	return err
}

// askMasterClosedFor asks a master of a Cluster for how long it grants nothing in slots that nobody has used yet, by
// its record. It changes nothing there.
func (e *Engine) askMasterClosedFor(ctx context.Context, c redis.Cmdable, scripts *scriptSet) (time.Duration, error) {
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return 0, err
	}
	me, found := askedNode(text)
	if !found {
		return 0, nil
	}
	if err := c.ScriptLoad(ctx, scripts.text[scriptGuardSlots]).Err(); err != nil {
		return 0, err
	}
	record := []string{e.masterRecordKey(me.firstSlot())}
	list, err := readNumbers(c.EvalShaRO(ctx, scripts.sha[scriptGuardSlots], record,
		e.maxTTL.Milliseconds(), me.epoch, me.rangesText(), me.firstSlot(), "", "", "look").Result())
	if err != nil {
		return 0, err
	}
	return luascript.Duration(list[2]), nil
}

// silentError returns the error for a server that did not answer, as the contract of engines defines it.
func silentError(err error) error {
	if errors.Is(err, errNoAnswer) {
		return driver.ErrSilent
	}
	return health.SilentError(err)
}

// health returns what the server says of itself.
func (r *serverReport) health() health.Report {
	return health.Report{Info: r.infoFields, Config: r.config, IsReplica: r.isReplica}
}
