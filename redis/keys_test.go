package redis

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// newKeyEngine makes an engine that only computes the names of keys.
func newKeyEngine(t *testing.T, prefix string) *Engine {
	t.Helper()
	c := config{}
	if err := WithPrefix(prefix)(&c); err != nil {
		t.Fatal(err)
	}
	return &Engine{config: c}
}

// everyKey returns all keys that may be written for a name.
func everyKey(n redisKeys) []string {
	if n.kind == driver.Latch {
		return n.valueAndToken()
	}
	return n.allKeys()
}

// awkwardNames are all names of up to five of the bytes at which keys are split, and some others.
func awkwardNames() []string {
	all := []string{
		"a{b}c", "a}b", "a{}b", "{x}", "}{", "{user:7}:cart", "{{a}}", "{a}{b}", "{a}:queue", "{lock:a}:token",
		"lock:a", "a:token", ":token", ":permits",
		"ünïcode", "日{本}語", "👩‍🚀{", "\n", "a\nb{\n}c", "\r\n", " ", "*", "[a-z]?", `\`, "12345", "\x01", "server",
		":server",
		strings.Repeat("n", 1024), strings.Repeat("{", 1024), strings.Repeat("}", 1024), strings.Repeat("{}", 512),
		strings.Repeat("ü", 510) + "{ü}",
		"}" + strings.Repeat("{a}", 341),
	}
	shorter := []string{""}
	for range 5 {
		var longer []string
		for _, s := range shorter {
			for _, b := range "{}:a" {
				longer = append(longer, s+string(b))
			}
		}
		shorter = longer
		all = append(all, longer...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var keyPrefixes = []string{DefaultPrefix, "l", "lock", "a:token", "token:"}

func TestKeysOfANameShareItsSlot(t *testing.T) {
	t.Parallel()
	for _, prefix := range keyPrefixes {
		e := newKeyEngine(t, prefix)
		for _, name := range awkwardNames() {
			for _, kind := range driver.Kinds {
				n := e.names(driver.Key{Kind: kind, Name: name})
				for _, key := range append(everyKey(n), prefix+name, n.partPrefix()+"wake:0123456789abcdef") {
					if slot := redisserver.Slot(key); slot != int(n.slot()) {
						t.Fatalf("the key %q of the %s %q is in slot %d, not %d", key, kind, name, slot, n.slot())
					}
				}
			}
		}
	}
}

// The engine computes the same slots as a real server.
func TestSlotsAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"cluster-enabled yes"}})
	e := newKeyEngine(t, DefaultPrefix)
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	var all []redisKeys
	for _, name := range awkwardNames() {
		all = append(all, e.names(driver.Key{Kind: driver.Lock, Name: name}))
	}
	answers, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, n := range all {
			p.ClusterKeySlot(t.Context(), n.value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range all {
		if slot := answers[i].(*redis.IntCmd).Val(); slot != int64(n.slot()) {
			t.Errorf("the key %q is in slot %d, not %d", n.value, slot, n.slot())
		}
	}
}

// Other clients find the lock where they expect it.
func TestValueKeyIsPrefixAndName(t *testing.T) {
	t.Parallel()
	for _, prefix := range keyPrefixes {
		for _, name := range awkwardNames() {
			if n := newKeyEngine(t, prefix).names(driver.Key{Kind: driver.Lock, Name: name}); n.value != prefix+name {
				t.Fatalf("the value of %q is at %q, want %q", name, n.value, prefix+name)
			}
		}
	}
}

// Only the token is shared: by the lock, the semaphore and the latch of one name.
func TestNoTwoNamesShareAKey(t *testing.T) {
	t.Parallel()
	for _, prefix := range keyPrefixes {
		e := newKeyEngine(t, prefix)
		owner := map[string]driver.Key{}
		for _, name := range awkwardNames() {
			for _, kind := range driver.Kinds {
				k := driver.Key{Kind: kind, Name: name}
				for _, key := range everyKey(e.names(k)) {
					before, taken := owner[key]
					if taken && !(before.Name == name && strings.HasSuffix(key, ":token")) {
						t.Fatalf("%v and %v share the key %q", before, k, key)
					}
					owner[key] = k
				}
			}
		}
		for first := range slots {
			for _, key := range guardKeys(e, uint16(first)) {
				if k, taken := owner[key]; taken {
					t.Fatalf("%v has the key %q of the guard", k, key)
				}
			}
		}
	}
}

// guardKeys are the keys of the guard. In a Cluster they belong to a slot.
func guardKeys(e *Engine, slot uint16) []string {
	return []string{e.serverMarkerKey(), e.slotMarkerKey(slot), e.masterRecordKey(slot)}
}

// The name and kind can be told from a key: this is how names are listed.
func TestKeysTellWhatTheyBelongTo(t *testing.T) {
	t.Parallel()
	for _, prefix := range keyPrefixes {
		e := newKeyEngine(t, prefix)
		for _, name := range awkwardNames() {
			for _, kind := range driver.Kinds {
				for i, key := range everyKey(e.names(driver.Key{Kind: kind, Name: name})) {
					k, part, ok := parseKey(prefix, key)
					if part == partToken {
						k.Kind = kind // all kinds share it
					}
					if !ok || k.Name != name || k.Kind != kind {
						t.Fatalf("the key %q belongs to %v (%q, %v), want the %s %q", key, k, part, ok, kind, name)
					}
					if value := kind == driver.Lock && i == 0; value != (part == "") {
						t.Fatalf("the key %q of the %s %q has the last part %q", key, kind, name, part)
					}
				}
			}
		}
	}
}

func TestForeignKeysBelongToNothing(t *testing.T) {
	t.Parallel()
	e := newKeyEngine(t, DefaultPrefix)
	foreign := []string{
		"", "{", "{}", "}", "lock:", "lock", "locks:a", "other:a", "{other:a}:token", "{lock:a}", "{lock:a}:",
		"{lock:a}:other", "{lock:a}token",
		"{}lock:a:other", "{lock:}:token", "{1}lock::token", "{lock:}:server", "{lock:a", "x{lock:a}:token",
	}
	for slot := range 10 {
		foreign = append(foreign, guardKeys(e, uint16(slot))...)
	}
	for _, key := range foreign {
		if k, part, ok := parseKey(DefaultPrefix, key); ok {
			t.Errorf("the key %q belongs to %v (%q)", key, k, part)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, name := range []string{"a", "a{b}c", "{}:token", "}{"} {
		f.Add(name)
	}
	e := &Engine{config: config{prefix: DefaultPrefix}}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			t.Skip("the core refuses it")
		}
		for _, kind := range driver.Kinds {
			n := e.names(driver.Key{Kind: kind, Name: name})
			for _, key := range everyKey(n) {
				k, part, ok := parseKey(DefaultPrefix, key)
				if slot := redisserver.Slot(key); slot != int(n.slot()) || !ok || k.Name != name || k.Kind != kind &&
					part != partToken {
					t.Fatalf("the key %q of the %s %q is in slot %d, not %d, and belongs to %v (%q, %v)", key, kind,
						name, slot, n.slot(), k, part, ok)
				}
			}
		}
	})
}
