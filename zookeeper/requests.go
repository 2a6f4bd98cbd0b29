package zookeeper

import (
	"context"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// node is what a server tells of one.
type node struct {
	data []byte
	stat *zk.Stat
}

// get reads a node.
func (c *client) get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	n, _, err := request(ctx, c, func(conn *zk.Conn) (node, error) {
		data, stat, err := conn.Get(path)
		return node{data, stat}, err
	})
	return n.data, n.stat, lacking(err, "read", path)
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
	return stat, lacking(err, "read", path)
}

func (c *client) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := request(ctx, c, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(path)
		return names, err
	})
	return names, lacking(err, "read", path)
}

// sync makes the server catch up with its leader. It proves nothing: see proof.go.
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
	_, err := change(ctx, c, func(conn *zk.Conn) (struct{}, error) { return struct{}{}, conn.Delete(path, version) })
	return lackingFor(err, &zk.DeleteRequest{Path: path})
}

// set writes the data of a node.
func (c *client) set(ctx context.Context, path string, data []byte) (*zk.Stat, error) {
	stat, err := change(ctx, c, func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(path, data, -1) })
	if err == nil {
		c.setClock(stat)
	}
	return stat, lacking(err, "write", path)
}

// create makes a node that stays.
func (c *client) create(ctx context.Context, path string, acl []zk.ACL) error {
	_, err := change(ctx, c, func(conn *zk.Conn) (string, error) { return conn.Create(path, nil, 0, acl) })
	return lackingFor(err, &zk.CreateRequest{Path: path})
}

// multi does several things, or none of them. done is told of its success, and in which session that was, although nobody may wait for it any more. If one of
// the things is refused, at says which, and err why.
func (c *client) multi(ctx context.Context, done func(made []zk.MultiResponse, session int64), ops ...any) (at int, err error) {
	at, err = change(ctx, c, func(conn *zk.Conn) (int, error) {
		before := conn.SessionID()
		made, err := conn.Multi(ops...)
		after := conn.SessionID()
		if err == nil && done != nil {
			done(made, after) // what was made by the session before is gone
		}
		if err == nil && after != before {
			return -1, errSession // the client may have kept the request until there was another one
		}
		return slices.IndexFunc(made, func(r zk.MultiResponse) bool { return r.Error != nil }), err
	})
	if at >= 0 && at < len(ops) {
		err = lackingFor(err, ops[at])
	}
	return at, err
}

// change is request for transactions: the answer, also a refusal, is that of a majority, and proves the session: see lasting.go.
func change[T any](ctx context.Context, c *client, f func(*zk.Conn) (T, error)) (T, error) {
	value, on, err := request(ctx, c, f)
	if err == nil || isAnswer(err) {
		c.proven(on)
	}
	return value, err
}

// setClock compares the clock of the servers, which has just been written down, with this machine's.
func (c *client) setClock(stat *zk.Stat) {
	ahead := time.Until(time.UnixMilli(stat.Mtime))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

// age is how long ago something was on the clock of the servers, by what is known of it.
func (c *client) age(millis int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, time.Since(time.UnixMilli(millis))+c.ahead)
}
