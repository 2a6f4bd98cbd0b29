package redis_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// What a server tells of its clients (MONITOR, SLOWLOG, CLIENT LIST) has no password. It has owners, in the arguments of scripts: so nobody who has the documented rights may ask for it, not even to operate.
func TestWhatAServerTellsOfItsClients(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	command(t, s, "CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10000")
	for _, role := range []string{"look", "lock", "operate"} {
		addUser(t, s, role, documentedRights(t, role))
	}
	spy, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer spy.Close()
	_ = spy.SetDeadline(time.Now().Add(time.Minute))
	heard := bufio.NewReader(spy)
	if _, err := fmt.Fprint(spy, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	if ok, err := heard.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", ok, err)
	}
	e := openURL(t, "redis://lock:"+userPassword+"@"+s.Addr())
	r := lasting("name", time.Minute)
	takes(t, e, r)
	clients := fmt.Sprint(command(t, s, "CLIENT", "LIST"))
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatal(err)
	}
	command(t, s, "ECHO", "the end of the test")
	var monitor strings.Builder
	for !strings.Contains(monitor.String(), "the end of the test") {
		line, err := heard.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		monitor.WriteString(line)
	}
	slow := fmt.Sprint(command(t, s, "SLOWLOG", "GET", "-1"))
	for from, text := range map[string]string{"MONITOR": monitor.String(), "SLOWLOG": slow, "CLIENT LIST": clients} {
		if strings.Contains(text, userPassword) {
			t.Errorf("%s tells the password", from)
		}
		if told := strings.Contains(text, r.Owner); told != (from != "CLIENT LIST") { // SECURITY.md says so
			t.Errorf("%s tells the owner: %v", from, told)
		}
	}
	for _, role := range []string{"look", "lock", "operate"} {
		client := asUser(s, role)(t)
		for _, words := range [][]any{{"MONITOR"}, {"SLOWLOG", "GET"}, {"CLIENT", "LIST"}, {"CLIENT", "KILL", "TYPE", "normal"}, {"ACL", "LOG"}, {"LATENCY", "LATEST"}, {"DEBUG", "OBJECT", "lock:name"}} {
			if err := client.Do(t.Context(), words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
				t.Errorf("%s may %v: %v", role, words, err)
			}
		}
	}
}

// The right that only leasehold doctor asks for tells the password of the server: so the page says where to leave it out.
func TestConfigGetTellsPasswords(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	rights := documentedRights(t, "look")
	addUser(t, s, "doctor", rights)
	addUser(t, s, "dashboard", slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return r == "+config|get" }))
	command(t, s, "CONFIG", "SET", "masterauth", "the password of the master")
	for user, want := range map[string]bool{"doctor": true, "dashboard": false} {
		reply, err := asUser(s, user)(t).Do(t.Context(), "CONFIG", "GET", "masterauth").Result()
		if told := strings.Contains(fmt.Sprint(reply), "the password of the master"); told != want {
			t.Errorf("%s is told the password: %v, %v", user, told, err)
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
