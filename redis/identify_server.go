package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// identifyServer asks a server what it is, all on one connection, so that one process answers.
func (rt *router) identifyServer(ctx context.Context, n redisKeys, lacked *server) (found *server, err error) {
	err = rt.onOneConnection(ctx, n.value, func(tx *redis.Tx) error {
		moment := rt.elapsed()
		info, err := askInfo(ctx, tx)
		if err != nil {
			return err
		}
		s := rt.knownServer(info.identity())
		isNew := s == nil
		if isNew {
			s = &server{identity: info.identity(), scripts: rt.config.newScriptSet(info.identity(), info.isCluster())}
			s.verifiedAt.Store(int64(-serverTrustedFor)) // not verified yet
		}
		if isNew || s == lacked {
			if err := rt.loadScripts(ctx, tx, s.scripts); err != nil {
				return err
			}
		}
		var reading *markerReading
		if isNew {
			if reading, err = rt.initServer(ctx, tx, s, info, n); err != nil {
				return err
			}
			if reading != nil && !info.isReplica {
				rt.noteVerified(s, reading, moment) // before anybody else can find it and take it for open
			}
		}
		found = rt.addServer(info, n, s)
		if info.isReplica { // it is not the master any more
			return nil
		}
		if rt.readOnly || !rt.config.guard || info.isCluster() {
			found.verifiedAt.Store(int64(moment))
			return nil
		}
		if reading == nil {
			if reading, err = rt.rereadMarker(ctx, tx, n, found); err != nil {
				return err
			}
		}
		rt.noteVerified(found, reading, moment)
		return nil
	})
	if err != nil {
		rt.reloadSlotMapIfStale(n, err)
		// Nothing was asked for yet, so there was no effect.
		return nil, reply.NoEffect(aboutKeys(n, rt.accessPattern(), explainError(err)))
	}
	return found, nil
}

// markerReading is what a marker said, and when it was read.
type markerReading struct {
	reply   markerReply
	askedAt driver.Instant
}

// initServer prepares a server that is new to the engine: it checks the user's rights there, and reads from the marker
// for how long grants stay closed. In a Cluster each slot has its own marker, which is read when a script finds that
// the slot is not open. A router that only reads leaves the marker alone.
func (rt *router) initServer(
	ctx context.Context, tx *redis.Tx, s *server, info serverInfo, n redisKeys,
) (*markerReading, error) {
	if rt.readOnly {
		return nil, rt.checkRights(ctx, tx, s, info, n, scriptRightsRead)
	}
	if err := rt.checkRights(ctx, tx, s, info, n, scriptRights); err != nil || !rt.config.guard || info.isCluster() {
		return nil, err
	}
	return rt.readMarker(ctx, tx, n, s, rt.sinceOtherServer(info, n))
}

// rereadMarker reads the marker of a known server. It does so each time the server is verified: another process that
// knows more may have closed the server since, and the server may be in another node list by now.
func (rt *router) rereadMarker(ctx context.Context, tx *redis.Tx, n redisKeys, s *server) (*markerReading, error) {
	reading, err := rt.readMarker(ctx, tx, n, s, -1)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // the scripts were removed
		if err = rt.loadScripts(ctx, tx, s.scripts); err == nil {
			reading, err = rt.readMarker(ctx, tx, n, s, -1)
		}
	}
	return reading, err
}

func (rt *router) readMarker(
	ctx context.Context, tx *redis.Tx, n redisKeys, s *server, sinceOther time.Duration,
) (*markerReading, error) {
	asked := driver.Now()
	marker, args := []string{rt.markerKey(n)}, rt.config.guardArgs(sinceOther)
	reply, err := readMarkerReply(tx.EvalSha(ctx, s.scripts.sha[scriptGuard], marker, args...).Result())
	if err != nil {
		return nil, err
	}
	return &markerReading{reply, asked}, nil
}

// noteVerified notes that the server had its identity at a moment, and what its marker said then. An answer
// older than the last one is ignored.
func (rt *router) noteVerified(s *server, reading *markerReading, moment time.Duration) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if s.listHash.Load() == nil || int64(moment) >= s.verifiedAt.Load() {
		s.listHash.Store(&reading.reply.listHash)
		s.marker.Store(newMarkerState(s, reading.askedAt, reading.reply.closedFor, reading.reply.state))
		s.verifiedAt.Store(int64(moment))
	}
}

// sinceOtherServer returns how long ago another server was seen in the place of this one; negative if none was. The
// other one may have been there for serverTrustedFor after that, and have granted leases: guard.lua adds that time.
func (rt *router) sinceOtherServer(info serverInfo, n redisKeys) time.Duration {
	before := rt.cachedServer(n)
	if before == nil || before.identity == info.identity() {
		return -1
	}
	return rt.elapsed() - time.Duration(before.verifiedAt.Load())
}

// checkRights has a script find out which rights the user lacks. Those that the scripts need are required, those for
// messages are not.
func (rt *router) checkRights(
	ctx context.Context, tx *redis.Tx, s *server, info serverInfo, n redisKeys, by script,
) error {
	publish := "PUBLISH"
	if info.isCluster() {
		publish = "SPUBLISH"
	}
	n.kind = driver.Lock
	run := tx.EvalSha
	if rt.readCommand == evalshaReadOnly {
		run = tx.EvalShaRO
	}
	answer, err := run(ctx, s.scripts.sha[by], n.allKeys(), publish).Slice()
	if err != nil {
		return aboutKeys(n, rt.accessPattern(), explainError(err))
	}
	if len(answer) < 2 {
		return errReply
	}
	if missing, _ := answer[0].([]any); len(missing) > 0 {
		var rights []string
		for _, command := range missing {
			rights = append(rights, strings.ToLower(fmt.Sprint("+", command)))
		}
		return replies.NewRightsError(rights, nil)
	}
	s.cannotPublish = answer[1] != int64(1)
	s.readsMayPublish = len(answer) > 2 && answer[2] == int64(1)
	return nil
}

func (rt *router) loadScripts(ctx context.Context, tx *redis.Tx, scripts *scriptSet) error {
	_, err := tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for s, text := range scripts.text {
			if !rt.readOnly || script(s).isReadOnly() {
				pipe.ScriptLoad(ctx, text)
			}
		}
		return nil
	})
	return explainError(err)
}
