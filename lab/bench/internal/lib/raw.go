package lib

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redissonwire"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// The bare commands of libraries, all sent in the same way. The slower a client is, the more processor time a server
// needs for each of its commands, as it sleeps in between: what commands cost can only be compared at one pace.
var (
	RawRLock       = raw("raw RLock", JavaRLock, 3)
	RawRFencedLock = raw("raw RFencedLock", JavaRFencedLock, 3)
	RawPlain       = raw("raw plain", GoPlain, 2)
	RawFenced      = raw("raw fenced", GoFenced, 2)
)

// raw sends the commands by which another library locks and releases: the first one locks.
func raw(name string, of Library, commands int) Library {
	return Library{
		Name:   name,
		Module: goRedis,
		On:     servers.OneRedis,
		Config: fmt.Sprintf("the %d commands of a pair of %s, recorded with MONITOR, the first in one request, and "+
			"the rest in another; %s", commands, of.Name, plainClient),
		Open: func(at Config) (Session, error) {
			s, err := of.Open(at)
			if err != nil {
				return nil, err
			}
			return &rawSession{of: s, client: client(at), n: commands, pairs: map[string][][]any{}}, nil
		},
	}
}

// rawSession is for one goroutine.
type rawSession struct {
	of     Session
	client *goredis.Client
	n      int                // commands of a pair
	pairs  map[string][][]any // by name
}

func (s *rawSession) Lock(ctx context.Context, name string) (Held, error) {
	p := s.pairs[name]
	if p == nil {
		var err error
		if p, err = s.record(ctx, name); err != nil {
			return Held{}, err
		}
		s.pairs[name] = p
	}
	if err := s.client.Do(ctx, p[0]...).Err(); err != nil && !errors.Is(err, goredis.Nil) {
		return Held{}, err
	}
	return Held{Release: func() error {
		answers, err := s.client.Pipelined(ctx, func(to goredis.Pipeliner) error {
			for _, c := range p[1:] {
				to.Do(ctx, c...)
			}
			return nil
		})
		if err == nil && answers[0].(*goredis.Cmd).Val() != int64(1) {
			err = errNotHeld
		}
		return err
	}}, nil
}

// record finds the commands of a name.
func (s *rawSession) record(ctx context.Context, name string) ([][]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.pair(ctx, name); err != nil { // loads the scripts
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.client.Options().Addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	limit, _ := ctx.Deadline()
	_, err = io.WriteString(conn, "MONITOR\r\n")
	if err := errors.Join(err, conn.SetDeadline(limit)); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(conn)
	if !lines.Scan() || lines.Text() != "+OK" {
		return nil, fmt.Errorf("MONITOR: %q, %w", lines.Text(), lines.Err())
	}
	if err := s.pair(ctx, name); err != nil {
		return nil, err
	}
	var p [][]any
	for len(p) < s.n {
		if !lines.Scan() {
			return nil, fmt.Errorf("not the commands of a pair: %q: %w", p, lines.Err())
		}
		args, sent, err := redissonwire.Arguments(strings.TrimPrefix(lines.Text(), "+"))
		if err != nil {
			return nil, err
		}
		if !sent || !strings.Contains(lines.Text(), name) {
			continue
		}
		var c []any
		for _, a := range args {
			c = append(c, a)
		}
		p = append(p, c)
	}
	return p, nil
}

func (s *rawSession) pair(ctx context.Context, name string) error {
	held, err := s.of.Lock(ctx, name)
	if err != nil {
		return err
	}
	return held.Release()
}

func (s *rawSession) Close() error { return errors.Join(s.client.Close(), s.of.Close()) }
