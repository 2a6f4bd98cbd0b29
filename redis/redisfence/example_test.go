package redisfence_test

import (
	"context"
	"errors"
	"log"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

var (
	rdb   *goredis.Client
	ctx   = context.Background()
	token uint64 // lease.Token()
)

// One is taken from the stock: the mark is raised first, then the stock is read, then written.
func ExampleRaise() {
	g, err := redisfence.Raise(ctx, rdb, redisfence.Beside("stock:7"), token)
	if err != nil {
		log.Fatal(err) // errors.Is(err, fence.ErrStale): somebody else has taken over
	}
	text, err := g.Get(ctx, "stock:7")
	if err != nil {
		log.Fatal(err) // errors.Is(err, goredis.Nil): there is none
	}
	left, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	switch err := g.Set(ctx, "stock:7", left-1); {
	case errors.Is(err, fence.ErrStale):
		log.Print("somebody else has taken over since: nothing was written")
	case errors.Is(err, fence.ErrUnknown):
		log.Print("no answer: it may have been written, and writing it again does no harm")
	case err != nil:
		log.Print(err)
	}
}

// The mark is a field of the hash that it protects, so neither is ever lost without the other.
func ExampleGuard_HSet() {
	g, err := redisfence.Raise(ctx, rdb, redisfence.Mark{Key: "order:1001", Field: "fence"}, token)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.HSet(ctx, "order:1001", "state", "shipped", "by", "worker 3"); err != nil {
		log.Print(err)
	}
}

// A command of Redis that has one key.
func ExampleGuard_Do() {
	g, err := redisfence.Raise(ctx, rdb, redisfence.Beside("queue"), token)
	if err != nil {
		log.Fatal(err)
	}
	length, err := g.Do(ctx, "RPUSH", "queue", "a", "b")
	if err != nil {
		log.Fatal(err)
	}
	log.Print(length.(int64))
}

// A script of one's own, which does several things in one step. All keys have the hash tag of the mark.
func ExampleGuard_Eval() {
	g, err := redisfence.Raise(ctx, rdb, redisfence.Beside("{user:7}:cart"), token)
	if err != nil {
		log.Fatal(err)
	}
	moved, err := g.Eval(ctx, `
		local n = redis.call('LLEN', KEYS[1])
		redis.call('RENAME', KEYS[1], KEYS[2])
		redis.call('HSET', KEYS[3], 'state', ARGV[1])
		return n`, []string{"{user:7}:cart", "{user:7}:order", "{user:7}:info"}, "ordered")
	if err != nil {
		log.Fatal(err)
	}
	log.Print(moved.(int64))
}

// A gate whose marks outlive the process.
func ExampleMarks() {
	gate := fence.NewGate(redisfence.Marks{Client: rdb})
	err := gate.Do(ctx, "printer", token, func(context.Context) error {
		return nil // what must be done in order
	})
	if err != nil {
		log.Print(err)
	}
}

// Keys of a Cluster that are not in one slot are refused before anything is sent.
func ExampleSlotError() {
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"c1:6379", "c2:6379"}})
	defer cluster.Close()

	g, err := redisfence.Raise(ctx, cluster, redisfence.Beside("stock:7"), token)
	if err != nil {
		log.Fatal(err)
	}
	err = g.Set(ctx, "stock:8", 1)
	if slot, ok := errors.AsType[*redisfence.SlotError](err); ok {
		log.Printf("%s is in slot %d, its mark in %d", slot.Key, slot.KeySlot, slot.MarkSlot)
	}
}
