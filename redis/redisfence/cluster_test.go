package redisfence_test

import (
	"errors"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisfence"
)

// In a Cluster, names are spread over all servers, a mark is where its data is, and keys in other slots are
// refused before anything is sent.
func TestCluster(t *testing.T) {
	t.Parallel()
	cl := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	c := closeAfter(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: cl.Addrs()}))
	owners := map[*redisserver.Server]bool{}
	for i := range 20 {
		key := fmt.Sprintf("stock:%d", i)
		owner, err := cl.Owner(redisserver.Slot(key))
		noErr(t, err)
		owners[owner] = true
		m := redisfence.Beside(key)
		g := mustRaise(t, c, m, 5)
		noErr(t, g.Set(t.Context(), key, "10"))
		_, err = g.Eval(t.Context(), "redis.call('SET', KEYS[2], redis.call('GET', KEYS[1]))",
			[]string{key, "{" + key + "}:copy"})
		if !errors.Is(err, goredis.Nil) {
			t.Errorf("%s: Eval: %v", key, err)
		}
		mustRaise(t, c, m, 6)
		wantStale(t, key, g.Set(t.Context(), key, "11"), 6, 5)
		if v := c.Get(t.Context(), "{"+key+"}:copy").Val(); v != "10" {
			t.Errorf("%s: the copy is %q", key, v)
		}
	}
	if len(owners) != 3 {
		t.Errorf("the keys are on %d of 3 servers: nothing is shown", len(owners))
	}
	g := mustRaise(t, c, redisfence.Beside("stock:1"), 7)
	sent := new(counter)
	c.AddHook(sent)
	for what, call := range map[string]func() error{
		"Set": func() error { return g.Set(t.Context(), "stock:2", "x") },
		"Eval": func() error {
			_, err := g.Eval(t.Context(), "return 1", []string{"stock:1", "stock:2"})
			return err
		},
	} {
		slot, ok := errors.AsType[*redisfence.SlotError](call())
		if !ok || !errors.Is(slot, fence.ErrInvalid) || slot.Key != "stock:2" || slot.Mark != "{stock:1}:fence" ||
			slot.KeySlot != redisserver.Slot("stock:2") || slot.MarkSlot != redisserver.Slot("stock:1") {
			t.Errorf("%s: %+v, want a SlotError", what, slot)
		}
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
}

// A single server does not care in which slot a Cluster would keep the keys.
func TestSlotsOfASingleServer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	g := mustRaise(t, c, redisfence.Mark{Key: "here"}, 5)
	noErr(t, g.Set(t.Context(), "there", "x"))
}

// A mark beside a key is in the slot of that key, and is another key.
func FuzzBeside(f *testing.F) {
	for _, key := range []string{"", "a", "{a}b", "a{b", "a}b", "{}a", "{a", "}{", "a{b}c{d}", "{{a}}"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		m := redisfence.Beside(key)
		if m.Key == "" {
			return
		}
		if m.Key == key || redisserver.Slot(m.Key) != redisserver.Slot(key) ||
			redisfence.Slot(m.Key) != redisserver.Slot(m.Key) {
			t.Errorf("the mark of %q is %q: slots %d, %d", key, m.Key, redisserver.Slot(key), redisserver.Slot(m.Key))
		}
	})
}

// No two keys have the same mark. So a program that lets others choose one key does not let them reach the
// mark of another.
func TestNoTwoKeysShareAMark(t *testing.T) {
	t.Parallel()
	key := map[string]string{} // by mark
	longer := []string{""}
	for range 5 {
		var next []string
		for _, stem := range longer {
			for _, piece := range []string{"{", "}", ":", "a", ":fence"} {
				next = append(next, stem+piece)
			}
		}
		longer = next
		for _, k := range next {
			m := redisfence.Beside(k)
			if other, taken := key[m.Key]; taken && m.Key != "" {
				t.Fatalf("the keys %q and %q share the mark %q", other, k, m.Key)
			}
			key[m.Key] = k
		}
	}
}
