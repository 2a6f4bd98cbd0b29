package redis

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
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
	if e.opened != nil {
		c := e.opened.ToServer(f.address)
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
