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

// follower is a replica as its master tells of it. See https://redis.io/docs/latest/commands/info/.
type follower struct {
	address, state string
	lag            time.Duration // since it was heard of; negative if it never was
}

// readFollowers reads what a master says of its replicas.
func readFollowers(info map[string]string) (all []follower) {
	for i := 0; ; i++ {
		line, told := info["slave"+strconv.Itoa(i)]
		if !told {
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
		all = append(all, follower{net.JoinHostPort(said["ip"], said["port"]), said["state"], time.Duration(seconds) * time.Second})
	}
}

// errByWord is why replicas are not asked by an engine of New: its client leads to masters.
var errByWord = errors.New("an engine on a client of one's own does not know how to reach replicas")

// followers looks at the replicas of each of the masters.
func (e *Engine) followers(ctx context.Context, masters []*visit) [][]*visit {
	all := make([][]*visit, len(masters))
	var work sync.WaitGroup
	for i, m := range masters {
		following := readFollowers(m.info)
		all[i] = make([]*visit, len(following))
		for j, f := range following {
			work.Go(func() { all[i][j] = e.visitFollower(ctx, f) })
		}
	}
	work.Wait()
	return all
}

func (e *Engine) visitFollower(ctx context.Context, f follower) *visit {
	v, err := newVisit(f.address), errByWord
	if e.far != nil {
		c := e.far.client(f.address)
		defer func() { _ = c.Close() }() // nothing was to be kept
		var seen *visit
		seen, err = e.visit(ctx, f.address, e.onlyMarker(), func(ctx context.Context, f func(redis.Cmdable) error) error {
			return c.Watch(ctx, func(tx *redis.Tx) error { return f(tx) })
		})
		if err == nil {
			v = seen
		}
	}
	v.follows, v.unlooked = true, err
	v.place.Role, v.place.Votes = "replica", false
	return v
}

// far is how an engine of Open reaches servers that its client does not lead to.
type far struct {
	target *target
	tls    *tls.Config
	last   atomic.Pointer[string] // the server to which the client has connected last
}

// noting returns a dialer that notes which server it has led to.
func (f *far) noting(dial dialFunc) dialFunc {
	if f.target.shape != behindSentinels {
		f.last.Store(&f.target.addresses[0])
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil && !slices.Contains(f.target.addresses, address) {
			f.last.Store(&address)
		}
		return conn, err
	}
}

// client makes a client for one server, in the way of the others.
func (f *far) client(address string) *redis.Client {
	t := *f.target
	t.shape, t.addresses, t.pool = oneServer, []string{address}, 1
	return t.client(t.dialer(f.tls)).(*redis.Client)
}
