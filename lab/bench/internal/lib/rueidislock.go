package lib

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

const rueidisModule = "github.com/redis/rueidis"

// Rueidislock is rueidis/rueidislock. Client-side caching wakes its waiters, all at once. It renews
// held locks.
var Rueidislock = Library{
	Name:   "rueidislock",
	Module: rueidisModule,
	On:     servers.OneRedis,
	Config: "as its README says for one Redis: KeyMajority 1, NoLoopTracking; TryNextAfter 10 s, since with the " +
		"default of 20 ms callers may hang for good; else defaults (5 s, extended every half)",
	Open: func(at Config) (Session, error) { return openRueidislock(at, 0) },
}

// RueidislockDelay is Rueidislock with more commands sent together than by default.
var RueidislockDelay = Library{
	Name:   "rueidislock delay",
	Module: rueidisModule,
	On:     servers.OneRedis,
	Config: "as rueidislock, with MaxFlushDelay 100 µs, which spares processors: here more than the 20 µs that its " +
		"documentation names",
	Open: func(at Config) (Session, error) { return openRueidislock(at, 100*time.Microsecond) },
}

type rueidislockSession struct{ locker rueidislock.Locker }

func openRueidislock(at Config, delay time.Duration) (Session, error) {
	o := rueidis.ClientOption{InitAddress: []string{at.firstAddr()}, MaxFlushDelay: delay}
	if at.Sent != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return at.Sent.Redis(conn), nil
		}
	}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyMajority: 1, NoLoopTracking: true, TryNextAfter: 10 * time.Second, KeyValidity: at.TTL,
	})
	if err != nil {
		return nil, err
	}
	return &rueidislockSession{l}, nil
}

func (s *rueidislockSession) Lock(ctx context.Context, name string) (Held, error) {
	held, release, err := s.locker.WithContext(ctx, name)
	if err != nil {
		return Held{}, err
	}
	return Held{Release: func() error {
		lost := held.Err()
		release()
		return lost
	}}, nil
}

func (s *rueidislockSession) Close() error {
	s.locker.Close()
	return nil
}
