package lib

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// Rueidislock is rueidis/rueidislock. Its waiters are woken by client-side caching, all at once, and
// it renews what is held.
var Rueidislock = Library{
	Name:   "rueidislock",
	Module: "github.com/redis/rueidis",
	Config: "as its README says for one Redis: KeyMajority 1, NoLoopTracking; TryNextAfter 1 s, as there is no next key, and a caller whose reply takes longer than the default of 20 ms may hang for good; else defaults (5 s, extended every half); client: rueidis, defaults",
	Open:   openRueidislock,
}

type rueidislockSession struct{ locker rueidislock.Locker }

func openRueidislock(at At) (Session, error) {
	o := rueidis.ClientOption{InitAddress: []string{at.Addr}}
	if at.Sent != nil {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return at.Sent.Watch(conn), nil
		}
	}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: o, KeyMajority: 1, NoLoopTracking: true, TryNextAfter: time.Second, KeyValidity: at.TTL,
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
