package redisson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// wireSide is a program in Java on a server.
type wireSide struct {
	*testing.T
	java   *javaside.Program
	server *redisserver.Server
}

// wireTests show what the protocol of Redisson has no place for, by what a real one does.
var wireTests = map[string]func(s wireSide){
	"NobodyIsInAQueue":        nobodyIsInAQueue,
	"NoPlaceForATokenInRLock": noPlaceForAToken,
	"SpinLocksNotifyNobody":   spinLocksNotifyNobody,
	"SemaphoresAreNumbers":    semaphoresAreNumbers,
	"PermitsOfJavaHaveNoName": permitsHaveNoName,
	"LatchesOfJavaAreNumbers": latchesAreNumbers,
}

func TestWhatTheWireHasNoPlaceFor(t *testing.T) {
	t.Parallel()
	java := javaside.Start(t, javaside.Newest)
	for name, test := range wireTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wireSide{t, java, redisserver.ForTest(t, redisserver.Config{})}
			java.MustOpen(name, javaside.Single(s.server.URL()))
			test(s)
		})
	}
	for _, n := range notes {
		if n.wire != "" && wireTests[n.wire] == nil {
			t.Errorf("there is no test %s", n.wire)
		}
	}
}

func (s wireSide) call(op, name string, args ...any) any {
	s.Helper()
	_, client, _ := strings.Cut(s.Name(), "/")
	return s.java.MustCall(client, op, name, args...)
}

func (s wireSide) command(args ...string) any {
	s.Helper()
	v, err := s.server.Command(args...)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

// dump returns all keys of a name with what is in them, but for how long they last.
func (s wireSide) dump(name string) string {
	s.Helper()
	return fmt.Sprint(s.command("EVAL", `
		local keys, all = redis.call('keys', '*' .. ARGV[1] .. '*'), {}
		table.sort(keys)
		for i, key in ipairs(keys) do
			local kind = redis.call('type', key).ok
			local read = {hash = {'hgetall'}, string = {'get'}, list = {'lrange', 0, -1}, zset = {'zrange', 0, -1}}
			local command = read[kind]
			table.insert(command, 2, key)
			all[i] = {key, kind, redis.call(unpack(command))}
		end
		return all`, "0", name))
}

// While threads wait for a lock or for permits, the keys are the same as without them. A fair lock has a queue.
func nobodyIsInAQueue(s wireSide) {
	_, client, _ := strings.Cut(s.Name(), "/")
	for _, kind := range []string{"lock", "fenced", "write", "read", "semaphore", "permits", "fair"} {
		name := "of " + kind
		holds, method, channel := kind, "lock", "redisson_lock__channel:{"+name+"}*"
		switch kind {
		case "read", "write":
			holds, channel = "write", "redisson_rwlock:{"+name+"}"
		case "semaphore", "permits":
			method, channel = "acquire", "redisson_sc:{"+name+"}"
			s.call(kind+".trySetPermits", name, 1)
		}
		s.call(holds+"."+method, name)
		before := s.dump(name)
		waiting := s.java.Go(javaside.Call{
			Client: client, Thread: "waits " + name, Op: kind + "." + method, Name: name,
		})
		b := both{servers: []*redisserver.Server{s.server}}
		if err := b.awaitSubscriber(s.Context(), channel); err != nil {
			s.Fatal(err)
		}
		if after := s.dump(name); (after == before) != (kind != "fair") {
			s.Errorf("%s: while a thread waits, the keys are\n%s\nand before\n%s", kind, after, before)
		}
		select {
		case <-waiting.Done():
			s.Errorf("%s: it did not wait", kind)
		default:
		}
	}
}

// A hold of an RLock leaves the counter of tokens alone, and its unlock deletes all of the hash, with whatever another
// program has put there.
func noPlaceForAToken(s wireSide) {
	for _, kind := range []string{"lock", "spin"} {
		s.command("SET", "redisson_lock_token:{"+kind+"}", "7")
		s.call(kind+".lock", kind)
		s.command("HSET", kind, "leasehold:token", "7")
		s.call(kind+".unlock", kind)
		if left := s.command("EXISTS", kind); left != int64(0) {
			s.Errorf("%s: the hash is left", kind)
		}
		if last := s.command("GET", "redisson_lock_token:{"+kind+"}"); last != "7" {
			s.Errorf("%s: the last token is %v", kind, last)
		}
	}
}

// An unlock of an RSpinLock publishes nothing, while that of an RLock does.
func spinLocksNotifyNobody(s wireSide) {
	for _, kind := range []string{"spin", "lock"} {
		s.call(kind+".lock", kind)
		s.call(kind+".unlock", kind)
		stats := fmt.Sprint(s.command("INFO", "commandstats"))
		if published := strings.Contains(stats, "cmdstat_publish:"); published != (kind == "lock") {
			s.Errorf("%s: published: %v", kind, published)
		}
	}
}

// An RSemaphore is one number, whoever has permits.
func semaphoresAreNumbers(s wireSide) {
	s.call("semaphore.trySetPermits", "s", 5)
	s.call("semaphore.acquire", "s", 2)
	if got := s.dump("s"); got != "[[s string 3]]" {
		s.Errorf("the keys of a semaphore: %s", got)
	}
}

// A permit is a random id and the end of its lease. So a listing shows holders without names and tokens, and of several
// none can be released by force.
func permitsHaveNoName(s wireSide) {
	s.call("permits.trySetPermits", "p", 3)
	id := s.call("permits.acquire", "p", 60_000, javaside.Milliseconds)
	s.call("permits.acquire", "p")
	_, client, _ := strings.Cut(s.Name(), "/")
	owner, err := s.java.Owner(s.Context(), client, "main")
	if err != nil {
		s.Fatal(err)
	}
	uuid, _, _ := strings.Cut(owner, ":")
	if all := s.dump("p"); strings.Contains(all, uuid) || len(fmt.Sprint(id)) != 32 {
		s.Errorf("permit %v of %s: %s", id, owner, all)
	}
	e := newEngine(s.T, s.server.Addr(), redisson.WithLock(redisson.Plain))
	list, err := e.List(s.Context(), driver.Query{Kind: driver.Semaphore, Name: "p"})
	if err != nil || len(list) != 1 || len(list[0].Holders) != 2 {
		s.Fatalf("listed %+v, %v", list, err)
	}
	ends := []bool{}
	for _, h := range list[0].Holders {
		if h.Token != 0 || strings.Contains(h.Holder, uuid) {
			s.Errorf("a permit of Java is listed as %+v", h)
		}
		ends = append(ends, h.TTL > 0 && h.TTL <= time.Minute)
	}
	if !slices.Contains(ends, true) || !slices.Contains(ends, false) {
		s.Errorf("one of the permits has a lease, and one has none: %+v", list[0].Holders)
	}
	if err := e.ForceRelease(s.Context(), list[0].Key, 0); err == nil {
		s.Error("one of two permits without a token was released by force")
	}
}

// A latch that Java has set looks like any number: a listing cannot tell it from others.
func latchesAreNumbers(s wireSide) {
	s.call("latch.trySetCount", "l", 2)
	if got := s.dump("l"); got != "[[l string 2]]" {
		s.Errorf("the keys of a latch: %s", got)
	}
	e := newEngine(s.T, s.server.Addr())
	list, err := e.List(s.Context(), driver.Query{Kind: driver.Latch, Limit: 10})
	if err != nil || len(list) != 0 {
		s.Errorf("listed %+v, %v", list, err)
	}
}
