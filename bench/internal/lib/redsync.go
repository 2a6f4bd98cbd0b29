package lib

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"
)

// Redsync is github.com/go-redsync/redsync on one node. It waits by trying again at random intervals.
var Redsync = Library{
	Name:   "redsync",
	Module: "github.com/go-redsync/redsync/v4",
	Config: "defaults (8 s; tries again after 50 … 250 ms), but tries without end, where the default of 32 gives up; " + plainClient,
	Open:   openRedsync,
}

// endless is more tries than any round has time for.
const endless = 1 << 30

type redsyncSession struct {
	client  *goredis9.Client
	redsync *redsync.Redsync
	options []redsync.Option
}

func openRedsync(at At) (Session, error) {
	c := client(at)
	s := &redsyncSession{client: c, redsync: redsync.New(goredis.NewPool(c)), options: []redsync.Option{redsync.WithTries(endless)}}
	if at.TTL != 0 {
		s.options = append(s.options, redsync.WithExpiry(at.TTL))
	}
	return s, nil
}

func (s *redsyncSession) Lock(ctx context.Context, name string) (Held, error) {
	m := s.redsync.NewMutex(name, s.options...)
	if err := m.LockContext(ctx); err != nil {
		return Held{}, err
	}
	return Held{Release: func() error {
		held, err := m.UnlockContext(ctx)
		if err == nil && !held {
			err = errNotHeld
		}
		return err
	}}, nil
}

func (s *redsyncSession) Close() error { return s.client.Close() }
