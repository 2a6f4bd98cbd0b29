package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// checkNoGrant publishes messages to a waiter of a name that another engine holds, and checks that it takes none of
// them for a grant. makeUp gets the ticket of the waiter.
func checkNoGrant(t *testing.T, makeUp func(ticket string) (messages []string)) {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, beside := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, beside, holder)
	r := mustJoin(t, e, lasting("a", time.Minute))
	got := startWait(t, e, r)
	record := strings.Fields(command(t, s, "HGET", "{lock:a}:info", "w"+r.Owner).(string))
	ticket, process := record[8], record[9]
	for _, m := range makeUp(ticket) {
		if receivers := command(t, s, "PUBLISH", "lock:wake:"+process, m); receivers != int64(1) {
			t.Fatalf("%v are subscribed to the channel of the process, want one", receivers)
		}
	}
	select {
	case g := <-got:
		t.Fatalf("the waiter took it for a grant: %+v, %v", g.Grant, g.err)
	case <-time.After(300 * time.Millisecond):
	}
	release(t, beside, holder)
	granted(t, got)
	release(t, e, r)
}

// grantMessage is the message of a grant of one token for 2 s.
func grantMessage(ticket string, at time.Time) string {
	return fmt.Sprintf("g %s %d 1 2000 %d 0", ticket, time.Now().UnixMicro(), at.UnixMilli())
}

// A delayed message of a grant is ignored if the server has refused the waiter since then: that grant has ended.
func TestMessageOfAnOldGrant(t *testing.T) {
	t.Parallel()
	checkNoGrant(t, func(ticket string) []string {
		return []string{grantMessage(ticket, time.Now().Add(-5*time.Second))}
	})
}

// Whoever may publish messages cannot make up a grant: the number of a ticket can be guessed, but it also has a secret.
func TestMadeUpMessageOfAGrant(t *testing.T) {
	t.Parallel()
	checkNoGrant(t, func(ticket string) (messages []string) {
		number, _, _ := strings.Cut(ticket, "-")
		for _, guess := range []string{number, number + "-", number + "-0123456789abcdef"} {
			messages = append(messages, grantMessage(guess, time.Now()))
		}
		return messages
	})
}

// Whoever may listen learns the secret of a ticket only with its grant, and the first grant counts.
func TestOverheardMessages(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	x, y, beside := unguarded(t, standalone(s)), unguarded(t, standalone(s)), unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, beside, holder)
	first, second := mustJoin(t, x, lasting("a", time.Minute)), mustJoin(t, y, lasting("a", time.Minute))
	time.Sleep(2 * time.Millisecond) // so that the server's clock shows a later time
	mustJoin(t, y, second)           // a waiter that has polled is told when to poll next
	firstGot, secondGot := startWait(t, x, first), startWait(t, y, second)
	spy := standalone(s)(t)
	heard := spy.PSubscribe(t.Context(), "lock:wake:*")
	defer heard.Close()
	if _, err := heard.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	release(t, beside, holder)
	g := granted(t, firstGot)
	for told := false; !told; {
		m, err := heard.ReceiveMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(m.Payload)
		if told = words[0] == "h"; told {
			madeUp := fmt.Sprintf("g %s %d 1 60000 %d 0", words[1], g.Token+1, time.Now().UnixMilli())
			command(t, s, "PUBLISH", m.Channel, madeUp)
		}
	}
	select {
	case g := <-secondGot:
		t.Errorf("the second waiter took a made-up message for a grant: %+v, %v", g.Grant, g.err)
	case <-time.After(300 * time.Millisecond):
	}
	release(t, x, first)
	granted(t, secondGot)
	release(t, y, second)
}

// A replica passes messages on to its subscribers, whom the master does not count. Such a waiter has to poll, and is
// never told that it has what the master has not granted.
func TestMessageThroughAReplica(t *testing.T) {
	t.Parallel()
	pair := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	e, beside := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		return splitClient{standalone(pair.Master)(t).(*goredis.Client),
			standalone(pair.Replicas[0])(t).(*goredis.Client)}
	}), unguarded(t, standalone(pair.Master))
	holder := lasting("a", 3*time.Second)
	mustTake(t, beside, holder)
	r := mustJoin(t, e, lasting("a", time.Minute))
	got := startWait(t, e, r)
	release(t, beside, holder)
	granted(t, got)
	if g, err := beside.Take(t.Context(), lasting("a", time.Minute)); err == nil {
		t.Errorf("token %d was granted while another holds", g.Token)
	}
	release(t, e, r)
}
