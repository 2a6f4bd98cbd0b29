package redis_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// What a server reveals about its clients (MONITOR, SLOWLOG, CLIENT LIST) contains no password. It contains owners, as
// arguments of scripts. So none of the documented sets of rights allows these commands, not even that of operators.
func TestWhatAServerRevealsAboutItsClients(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	command(t, s, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10000")
	for _, role := range sets {
		addUser(t, s, role, documentedRights(t, role))
	}
	spy, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	_ = spy.SetDeadline(time.Now().Add(time.Minute))
	monitored := bufio.NewReader(spy)
	if _, err := fmt.Fprint(spy, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	if ok, err := monitored.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", ok, err)
	}
	e := openURL(t, "redis://lock:"+userPassword+"@"+s.Addr())
	r := lasting("name", time.Minute)
	mustTake(t, e, r)
	clients := fmt.Sprint(command(t, s, "CLIENT", "LIST"))
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatal(err)
	}
	command(t, s, "ECHO", "the end of the test")
	var monitor strings.Builder
	for !strings.Contains(monitor.String(), "the end of the test") {
		line, err := monitored.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		monitor.WriteString(line)
	}
	slow := fmt.Sprint(command(t, s, "SLOWLOG", "GET", "-1"))
	for from, text := range map[string]string{"MONITOR": monitor.String(), "SLOWLOG": slow, "CLIENT LIST": clients} {
		if strings.Contains(text, userPassword) {
			t.Errorf("%s reveals the password", from)
		}
		if revealed := strings.Contains(text, r.Owner); revealed != (from != "CLIENT LIST") { // SECURITY.md says so
			t.Errorf("%s reveals the owner: %v", from, revealed)
		}
	}
	for _, role := range sets {
		client := asUser(s, role)(t)
		for _, words := range [][]any{{"MONITOR"}, {"SLOWLOG", "GET"}, {"CLIENT", "LIST"},
			{"CLIENT", "KILL", "TYPE", "normal"}, {"ACL", "LOG"}, {"LATENCY", "LATEST"},
			{"DEBUG", "OBJECT", "lock:name"}} {
			if err := client.Do(t.Context(), words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
				t.Errorf("%s may %v: %v", role, words, err)
			}
		}
	}
}

// CONFIG GET reveals the server's passwords. So the right to it is in a set of its own, and not in those for reading,
// locking and operating.
func TestConfigGetRevealsPasswords(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	command(t, s, "CONFIG", "SET", "masterauth", "the password of the master")
	for _, set := range sets {
		addUser(t, s, set, documentedRights(t, set))
		reply, err := asUser(s, set)(t).Do(t.Context(), "CONFIG", "GET", "masterauth").Result()
		revealed := strings.Contains(fmt.Sprint(reply), "the password of the master")
		if revealed != (set == "doctor") {
			t.Errorf("%s can read the password: %v, %v", set, revealed, err)
		}
	}
	page, err := os.ReadFile("../docs/engines/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "**`+config|get` tells passwords.**") {
		t.Error("the page does not say so")
	}
}
