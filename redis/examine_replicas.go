package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicaInfo is what a master says of a replica. See https://redis.io/docs/latest/commands/info/.
type replicaInfo struct {
	address, state string
	lag            time.Duration // since its last message; negative if there was none
}

// readReplicas reads what a master says of its replicas.
func readReplicas(info map[string]string) (all []replicaInfo) {
	for i := 0; ; i++ {
		line, found := info["slave"+strconv.Itoa(i)]
		if !found {
			return all
		}
		said := map[string]string{}
		for pair := range strings.SplitSeq(line, ",") {
			field, value, _ := strings.Cut(pair, "=")
			said[field] = value
		}
		seconds, err := strconv.Atoi(said["lag"])
		if err != nil {
			seconds = -1
		}
		all = append(all, replicaInfo{
			address: net.JoinHostPort(said["ip"], said["port"]),
			state:   said["state"],
			lag:     time.Duration(seconds) * time.Second,
		})
	}
}

// errCannotReachReplicas is why an engine of New does not ask replicas: its client only reaches masters.
var errCannotReachReplicas = errors.New("the program gave its own client, which leads to masters only")

// examineReplicas examines the replicas of all masters.
func (e *Engine) examineReplicas(ctx context.Context, masters []*serverReport) [][]*serverReport {
	all := make([][]*serverReport, len(masters))
	var work sync.WaitGroup
	for i, m := range masters {
		following := readReplicas(m.infoFields)
		all[i] = make([]*serverReport, len(following))
		for j, f := range following {
			work.Go(func() { all[i][j] = e.examineReplica(ctx, f) })
		}
	}
	work.Wait()
	return all
}

func (e *Engine) examineReplica(ctx context.Context, f replicaInfo) *serverReport {
	r, err := newServerReport(f.address), errCannotReachReplicas
	if e.directDialer != nil {
		c := e.directDialer.client(f.address)
		defer func() { _ = c.Close() }() // it was only read from
		var seen *serverReport
		connect := func(ctx context.Context, f func(redis.Cmdable) error) error {
			return c.Watch(ctx, func(tx *redis.Tx) error { return f(tx) })
		}
		seen, err = e.examineServer(ctx, f.address, e.serverMarkerKey(), connect)
		if err == nil {
			r = seen
		}
	}
	r.isReplica, r.errNotAsked = true, err
	r.server.Role, r.server.Votes = "replica", false
	return r
}

// directDialer reaches servers that the client of an engine of Open does not lead to.
type directDialer struct {
	target      *target
	tls         *tls.Config
	lastAddress atomic.Pointer[string] // the server to which the client connected last
}

// recordAddress returns a dialer that remembers which server it connected to.
func (f *directDialer) recordAddress(dial dialFunc) dialFunc {
	if f.target.shape != behindSentinels {
		f.lastAddress.Store(&f.target.addresses[0])
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil && !slices.Contains(f.target.addresses, address) {
			f.lastAddress.Store(&address)
		}
		return conn, err
	}
}

// client makes a client for one server, with the settings of the engine's client.
func (f *directDialer) client(address string) *redis.Client {
	t := *f.target
	t.shape, t.addresses, t.pool = oneServer, []string{address}, 1
	return t.client(t.dialer(context.Background(), f.tls)).(*redis.Client)
}
