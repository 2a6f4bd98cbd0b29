package lib

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

const (
	redissonModule = "org.redisson:redisson"
	javaDefaults   = "defaults (30 s, renewed every third; 16 threads, 32 of netty, 24 connections), in Java with " +
		"its defaults"
	javaSmall = "a client for each thread, with 4 threads, 4 of netty and 1 connection, as there are many in one " +
		"process"
)

// Redisson in Java.
var (
	JavaRLock       = inJava("Java RLock", "lock")
	JavaRFencedLock = inJava("Java RFencedLock", "fenced")
)

// Contenders for one lock: clients of Redisson, of this library, and half of each.
var (
	LocksJava, LocksGo, LocksBoth = contenders("lock", "lock", redisson.Plain)
	FairJava, FairGo, FairBoth    = contenders("fair", "fair", redisson.Fair)
)

func inJava(name, kind string) Library {
	return Library{
		Name:    name,
		Module:  redissonModule,
		Version: javaside.Newest,
		On:      servers.OneRedis,
		Config:  javaDefaults,
		Open:    func(at Config) (Session, error) { return openJava(at, kind, true) },
	}
}

func contenders(name, kind string, lock redisson.LockType) (inJava, inGo, both Library) {
	java := func(at Config) (Session, error) { return openJava(at, kind, false) }
	inGo = onRedisson(name+" Go", lock)
	inJava = Library{
		Name:    name + " Java",
		Module:  redissonModule,
		Version: javaside.Newest,
		On:      servers.OneRedis,
		Config:  javaSmall,
		Open:    java,
	}
	both = inGo
	both.Name, both.Beside = name+" Java+Go", java
	both.Config = "half of the clients in each language"
	return inJava, inGo, both
}

// java is the process that all sessions in Java share, while there are any.
var java struct {
	sync.Mutex
	program *javaside.Program
	users   int
	opened  int // sessions so far
}

func openJava(at Config, kind string, defaults bool) (Session, error) {
	java.Lock()
	defer java.Unlock()
	if java.users == 0 {
		p, err := javaside.Run(javaside.Newest)
		if err != nil {
			return nil, err
		}
		java.program = p
	}
	java.users++
	java.opened++
	s := &javaSession{program: java.program, client: fmt.Sprintf("java%d", java.opened), kind: kind}
	c := javaside.Single("redis://" + at.firstAddr())
	c.Defaults, c.Watchdog = defaults, at.TTL
	ctx, cancel := context.WithTimeout(context.Background(), javaside.Patience)
	defer cancel()
	if _, err := s.program.Open(ctx, s.client, c); err != nil {
		return nil, errors.Join(err, leaveJava())
	}
	return s, nil
}

// leaveJava ends the process if nobody uses it any more. Its mutex is held.
func leaveJava() error {
	java.users--
	if java.users > 0 {
		return nil
	}
	return java.program.Close()
}

// javaSession is one client of Redisson.
type javaSession struct {
	program      *javaside.Program
	client, kind string
}

var _ Turner = (*javaSession)(nil)

// Lock locks through the pipe, which is slow. Only one goroutine may call it at a time.
func (s *javaSession) Lock(ctx context.Context, name string) (Held, error) {
	call := func(method string) error {
		_, err := s.program.Call(ctx, javaside.Call{Client: s.client, Op: s.kind + method, Name: name})
		return err
	}
	return Held{Release: func() error { return call(".unlock") }}, call(".lock")
}

func (s *javaSession) Turns(ctx context.Context, name string, t Turns) ([]javaside.Turn, bool, error) {
	return s.program.Turns(ctx, s.client, name,
		javaside.Turns{Kind: s.kind, For: t.For, Hold: t.Hold, Register: t.Register})
}

func (s *javaSession) ProcessorTime() time.Duration { return servers.ProcessorTime(s.program.PID()) }

func (s *javaSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), javaside.Patience)
	defer cancel()
	err := s.program.CloseClient(ctx, s.client)
	java.Lock()
	defer java.Unlock()
	return errors.Join(err, leaveJava())
}
