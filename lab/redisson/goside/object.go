package goside

import (
	"context"
	"fmt"
	"strings"

	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// object is an object of one thread.
type object interface {
	call(ctx context.Context, method string, args []any) (any, error)
}

// errMethod says that an object has no such method, or not with such arguments.
func errMethod(method string, args []any) error {
	return fmt.Errorf("goside: the object has no method %s%v", method, args)
}

// object returns the object and the method of an op, such as "lock.tryLock".
func (s *session) object(t *thread, op, client, name string) (object, string, error) {
	kind, method, _ := strings.Cut(op, ".")
	o, err := s.get(t, client, kind, name)
	return o, method, err
}

// get returns an object of a thread, which it makes if it is not there yet.
func (s *session) get(t *thread, client, kind, name string) (object, error) {
	key := client + " " + kind + " " + name
	if o := t.objects[key]; o != nil {
		return o, nil
	}
	o, err := s.make(t, client, kind, name)
	if err == nil {
		t.objects[key] = o
	}
	return o, err
}

func (s *session) make(t *thread, client, kind, name string) (object, error) {
	if kind == "multi" || kind == "red" {
		return s.makeMulti(t, kind, name)
	}
	c, err := s.client(client)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "lock":
		return lock{c.Lock(name)}, nil
	case "fenced":
		return lock{c.FencedLock(name)}, nil
	case "spin":
		return lock{c.SpinLock(name)}, nil
	case "fair":
		return lock{c.FairLock(name)}, nil
	case "read", "write": // both are one value
		l := c.ReadWriteLock(name)
		t.objects[client+" write "+name] = lock{l.WriteLock()}
		t.objects[client+" read "+name] = lock{l.ReadLock()}
		return t.objects[client+" "+kind+" "+name], nil
	case "semaphore":
		return semaphore{c.Semaphore(name)}, nil
	case "permits":
		return &permits{client: c, name: name}, nil
	case "latch":
		return latch{c.CountDownLatch(name)}, nil
	}
	return nil, fmt.Errorf("goside: there is no kind %s", kind)
}

// makeMulti makes a lock of the locks "a.lock.x+b.fair.y": client, kind and name of each.
func (s *session) makeMulti(t *thread, kind, names string) (object, error) {
	var parts []*objects.Lock
	for part := range strings.SplitSeq(names, "+") {
		words := strings.SplitN(part, ".", 3)
		if len(words) != 3 {
			return nil, fmt.Errorf("goside: the part %q is not CLIENT.KIND.NAME", part)
		}
		o, err := s.get(t, words[0], words[1], words[2])
		if err != nil {
			return nil, err
		}
		l, _ := o.(lock)
		one, ok := l.locker.(*objects.Lock)
		if !ok {
			return nil, fmt.Errorf("goside: a %s cannot be a part of a %s", words[1], kind)
		}
		parts = append(parts, one)
	}
	make := objects.NewMultiLock
	if kind == "red" {
		make = objects.NewRedLock
	}
	m, err := make(parts...)
	return lock{m}, err
}
