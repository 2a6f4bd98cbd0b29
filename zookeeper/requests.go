package zookeeper

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// nodeData is what a server answers about a node.
type nodeData struct {
	data []byte
	stat *zk.Stat
}

// get reads a node.
func (c *client) get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	n, _, err := request(ctx, c, func(conn *zk.Conn) (nodeData, error) {
		data, stat, err := conn.Get(path)
		return nodeData{data, stat}, err
	})
	return n.data, n.stat, explainMissingRight(err, "read", path)
}

// exists returns nil if there is no such node.
func (c *client) exists(ctx context.Context, path string) (*zk.Stat, error) {
	stat, _, err := request(ctx, c, func(conn *zk.Conn) (*zk.Stat, error) {
		there, stat, err := conn.Exists(path)
		if !there {
			stat = nil
		}
		return stat, err
	})
	return stat, explainMissingRight(err, "read", path)
}

func (c *client) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := request(ctx, c, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(path)
		return names, err
	})
	return names, explainMissingRight(err, "read", path)
}

// sync makes the server catch up with its leader. It proves nothing: see confirm.go.
func (c *client) sync(ctx context.Context, path string) error {
	_, _, err := request(ctx, c, func(conn *zk.Conn) (string, error) { return conn.Sync(path) })
	return err
}

// remove deletes a node, whatever its version.
func (c *client) remove(ctx context.Context, path string) error {
	return c.removeVersion(ctx, path, -1)
}

// removeVersion deletes a node if it has that version.
func (c *client) removeVersion(ctx context.Context, path string, version int32) error {
	_, err := transact(ctx, c, func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(path, version) })
	return explainMissingRightOf(err, &zk.DeleteRequest{Path: path})
}

// set writes the data of a node.
func (c *client) set(ctx context.Context, path string, data []byte) (*zk.Stat, error) {
	stat, err := transact(ctx, c, func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(path, data, -1) })
	if err == nil {
		c.setClock(stat)
	}
	return stat, explainMissingRight(err, "write", path)
}

// create creates a node that is not ephemeral.
func (c *client) create(ctx context.Context, path string, acl []zk.ACL) error {
	_, err := transact(ctx, c, func(conn *zk.Conn) (string, error) { return conn.Create(path, nil, 0, acl) })
	return explainMissingRightOf(err, &zk.CreateRequest{Path: path})
}

// multi sends operations of which the server does all or none. If they succeed, it calls done with the results and the
// session in which that was, even if ctx has ended meanwhile. If an operation is refused, at is its index, and err the
// reason.
func (c *client) multi(
	ctx context.Context, done func(made []zk.MultiResponse, session int64), ops ...any,
) (at int, err error) {
	at, err = transact(ctx, c, func(conn *zk.Conn) (int, error) {
		before := conn.SessionID()
		made, err := conn.Multi(ops...)
		after := conn.SessionID()
		if err == nil && done != nil {
			done(made, after) // what the previous session made is gone
		}
		if err == nil && after != before {
			return -1, errSession // the library may have kept the request until the next session
		}
		return slices.IndexFunc(made, func(r zk.MultiResponse) bool { return r.Error != nil }), err
	})
	if at >= 0 && at < len(ops) {
		err = explainMissingRightOf(err, ops[at])
	}
	return at, err
}

// transact is request for transactions. An answer to a transaction, even a refusal, comes from a majority, and so
// proves that the session is alive: see session_life.go.
func transact[T any](ctx context.Context, c *client, f func(*zk.Conn) (T, error)) (T, error) {
	value, on, err := request(ctx, c, f)
	if err == nil || isAnswer(err) {
		c.noteProof(on)
	}
	return value, err
}

// setClock compares the clock of the servers, as just written into a node, with this machine's.
func (c *client) setClock(stat *zk.Stat) {
	ahead := time.Until(time.UnixMilli(stat.Mtime))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clockAhead = ahead
}

// age returns how long ago a time of the servers was, in milliseconds since 1970, as far as their clock is known.
func (c *client) age(millis int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Since(time.UnixMilli(millis))+c.clockAhead)
}
