package redis

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// Among makes the engine one of several whose servers keep the same locks together, as package redlock does. A hash
// in the marker of each server says to which list of servers it belongs ("-" for none). check returns why a server with
// that hash must not grant or renew anything for this program, or nil. The hash is read at most a second before each
// request that grants or renews. Among has no effect without the guard, or in a Cluster.
//
// Call it before the first request. check is called from any goroutine, and must not block.
func (e *Engine) Among(check func(hash string) error) { e.nodeList = &nodeList{check} }

// nodeList checks the list to which a server belongs.
type nodeList struct{ check func(hash string) error }

// checkNodeList returns why a server must not grant or renew anything because it belongs to another list, or nil.
func (rt *router) checkNodeList(srv *server) error {
	if rt.config.nodeList == nil {
		return nil
	}
	hash := srv.listHash.Load()
	if hash == nil {
		if rt.config.guard {
			return errListUnknown
		}
		return nil
	}
	if err := rt.config.nodeList.check(*hash); err != nil {
		return reply.NoEffect(err)
	}
	return nil
}

// errListUnknown says that it is not known yet to which list a server belongs.
var errListUnknown = driver.NoEffect(errors.New("redis: it is not known yet with which other servers " +
	"this one is used: try again"))

// isListUnknown reports whether the server's list has not been read yet.
func (rt *router) isListUnknown(s *server) bool {
	return rt.config.nodeList != nil && s.listHash.Load() == nil
}

// Enlist writes into the server's marker to which list it belongs, if it still belongs to the list before ("-" for
// none). With closing, the server grants nothing for the longest ttl from now on. Enlist returns the hash that the
// marker has in the end: the new one, or another if another process was faster. Without the guard there is no marker,
// and nothing happens.
func (e *Engine) Enlist(ctx context.Context, before, hash string, closing bool) (now string, err error) {
	if e.subscriptions.IsClosed() {
		return "", errEngineClosed
	}
	if !e.guard {
		return hash, nil
	}
	return inTime(ctx, e, func(ctx context.Context) (string, error) {
		return e.enlist(ctx, before, hash, closing)
	}, nil)
}

func (e *Engine) enlist(ctx context.Context, before, hash string, closing bool) (now string, err error) {
	n := e.anyNames()
	srv, err := e.router.server(ctx, n, false) // it has a marker once it was initialized
	if err != nil {
		return "", err
	}
	args := []any{before, hash}
	if closing {
		args = append(args, e.maxTTL.Milliseconds())
	}
	cmd := newScriptCall([]string{e.serverMarkerKey()}, args...).command(ctx, srv.scripts, scriptNodeList)
	answer, err := e.send(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		_, err = e.router.findServer(ctx, n, srv)
		if err == nil {
			err = errScripts // it is another server by now: try again
		}
	}
	if err != nil {
		return "", explainError(err)
	}
	now, isText := answer.(string)
	if !isText {
		return "", errReply
	}
	_, err = e.router.findServer(ctx, n, nil) // so that the next request uses the new hash
	return now, err
}

// readListHash reads the list's hash in the marker of a server, without initializing the server.
func (c *config) readListHash(ctx context.Context, client redis.Cmdable) (string, error) {
	text, err := client.Get(ctx, c.serverMarkerKey()).Result()
	if err == redis.Nil {
		return noListHash, nil
	}
	if err != nil {
		return "", explainError(err)
	}
	if fields := strings.Fields(text); len(fields) >= 5 {
		return fields[4], nil
	}
	return noListHash, nil // written by an earlier version
}

// noListHash is the hash of a server that belongs to no list.
const noListHash = "-"
