package servers

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// ZooKeeper is one ZooKeeper server.
type ZooKeeper struct {
	server  *zookeeperserver.Server
	version string
	conn    *zk.Conn
}

// ZooKeeper's defaults, where a server for tests forgets sessions sooner, and has small files.
const (
	zooTick       = 2 * time.Second
	zooMaxSession = 20 * zooTick
	zooFile       = "preAllocSize=65536" // KiB
)

// OpenZooKeeper starts a server.
func OpenZooKeeper(context.Context) (_ *ZooKeeper, err error) {
	z := &ZooKeeper{}
	if z.server, err = zookeeperserver.Start(zookeeperserver.Config{Tick: zooTick, MaxSession: zooMaxSession,
		Lines: []string{zooFile}}); err != nil {
		return nil, err
	}
	if z.version, err = z.statusLine("Zookeeper version:"); err == nil {
		z.conn, _, err = zk.Connect(z.Addrs(), zooMaxSession, zk.WithLogger(noLog{}), zk.WithLogInfo(false))
	}
	if err != nil {
		return nil, errors.Join(err, z.Close())
	}
	z.version, _, _ = strings.Cut(z.version, "-")
	return z, nil
}

// noLog discards log messages.
type noLog struct{}

func (noLog) Printf(string, ...any) {}

// statusLine asks for the server's status and returns the rest of the line that begins with
// word.
func (z *ZooKeeper) statusLine(word string) (string, error) {
	said, err := z.server.Word("srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(said) {
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("the ZooKeeper that was started does not tell %q but %q", word, said)
}

// Addrs returns the one address.
func (z *ZooKeeper) Addrs() []string { return []string{z.server.Addr()} }

// Info says which server it is.
func (z *ZooKeeper) Info() Info {
	return Info{OneZooKeeper, "ZooKeeper " + z.version,
		"started for the benchmark: alone, loopback, default durability: each change is synced to " + disk() +
			" before it is answered; Java with 128 MB and its first compiler alone"}
}

// Load reads how many requests the server has received, and its processor time.
func (z *ZooKeeper) Load(context.Context) (Load, error) {
	said, err := z.statusLine("Received:")
	if err != nil {
		return Load{}, err
	}
	received, err := strconv.ParseInt(said, 10, 64)
	return Load{Commands: float64(received), CPU: ProcessorTime(z.server.PID())}, err
}

// RemoveKeys deletes all nodes that have mark in their names, and what is below them.
func (z *ZooKeeper) RemoveKeys(ctx context.Context, mark string) error {
	return z.removeNodes(ctx, "/", mark)
}

func (z *ZooKeeper) removeNodes(ctx context.Context, node, mark string) error {
	names, _, err := z.conn.Children(node)
	if err != nil {
		return ignoreNoNode(err)
	}
	var errs []error
	for _, name := range names {
		child := path.Join(node, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case strings.Contains(name, mark):
			errs = append(errs, z.removeNodes(ctx, child, ""), ignoreNoNode(z.conn.Delete(child, -1)))
		default:
			errs = append(errs, z.removeNodes(ctx, child, mark))
		}
	}
	return errors.Join(errs...)
}

// ignoreNoNode returns nil for a node that was deleted meanwhile, such as one of a session that has
// ended.
func ignoreNoNode(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Close ends the server and removes its folder.
func (z *ZooKeeper) Close() error {
	if z.conn != nil {
		z.conn.Close()
	}
	return z.server.Close()
}
