//go:build unix

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// nodeEntry is the JSON form of a node.
type nodeEntry struct {
	Node, Answer string
	Holders      []struct {
		Token  uint64
		Holder string
		TTL    *int64 `json:"ttl_ms"`
		Owner  any    `json:"owner"`
	}
	Quarantine int64 `json:"quarantine_ms"`
	Error      string
}

type inspection struct {
	Name    string
	Free    *bool
	Entries []entry
	Nodes   []nodeEntry
	Until   string `json:"closed_until"`
	Reason  string `json:"closed_reason"`
}

// noAnswer matches what inspect shows of a silent node.
var noAnswer = regexp.MustCompile(`(?m)^node .* no answer$|"answer": *"no answer"`)

// Of five servers, two work, one was restarted and has forgotten everything, one is stopped, and one refuses. inspect
// shows the answer of each, for a held and for a free name, also when too few are left to know.
func TestInspectShowsWhatEachServerSays(t *testing.T) {
	t.Parallel()
	var servers []*redisserver.Server
	var at []string
	for range 5 {
		s := redisserver.ForTest(t, redisserver.Config{})
		redisCommand(t, s, "ACL", "SETUSER", "user", "on", ">"+geheim, "~*", "&*", "+@all")
		servers, at = append(servers, s), append(at, s.Addr())
	}
	const maxTTL = 8 // seconds: for how long a restarted server does not vote
	url := fmt.Sprintf("redlock://%s%s?", withPassword("user"), strings.Join(at, ","))
	holder := newMachine(t).use(url+"node_timeout=10s&"+unguarded).hold("--ttl", "60s", "a")
	m := newMachine(t).use(url + fmt.Sprintf("node_timeout=1s&max_ttl=%ds", maxTTL))
	for _, s := range servers {
		m.until("all have granted it", func() bool {
			held, err := s.Command("EXISTS", "lock:a")
			return err == nil && held == int64(1)
		})
	}
	m.do("open", "--yes").want(t, 0)
	m.until("servers that vote", func() bool {
		r := m.do("inspect", "-o", "json", "a")
		return r.code == 0 && !slices.ContainsFunc(decode[inspection](t, r).Nodes, func(n nodeEntry) bool {
			return n.Quarantine > 0 || n.Answer == "no answer"
		})
	})
	if err := servers[3].Pause(); err != nil {
		t.Fatal(err)
	}
	redisCommand(t, servers[4], "ACL", "SETUSER", "user", "-@all")
	paused := 1
	look := func(code int, args ...string) (r result) {
		t.Helper()
		for range 20 { // on a busy machine, working servers may not answer in time either
			servers[2].Kill()
			if err := servers[2].Restart(); err != nil {
				t.Fatal(err)
			}
			redisCommand(t, servers[2], "ACL", "SETUSER", "user", "on", ">"+geheim, "~*", "&*", "+@all")
			r = m.do(append([]string{"inspect"}, args...)...)
			if silent := len(noAnswer.FindAllString(r.out, -1)); r.code == code && silent <= paused {
				break
			}
		}
		return r.want(t, code).wantNoSecret(t)
	}
	held := decode[inspection](t, look(0, "-o", "json", "a"))
	free := decode[inspection](t, look(0, "-o", "json", "b"))
	text := look(0, "a").out
	if held.Free == nil || *held.Free || len(held.Entries) != 1 || free.Free != nil || free.Until == "" ||
		!strings.Contains(free.Reason, "of 5 servers, 1 restarted ") ||
		!strings.Contains(free.Reason, "2 do not answer") ||
		len(free.Entries) != 0 { // two servers are no majority, so b is granted to nobody until the third one opens
		t.Errorf("a: %+v, b: %+v", held, free)
	}
	for _, seen := range []inspection{held, free} {
		if len(seen.Nodes) != 5 {
			t.Fatalf("%s: %d nodes", seen.Name, len(seen.Nodes))
		}
		says := "free"
		if seen.Name == "a" {
			says = "held"
		}
		for i, want := range []string{says, says, "free", "no answer", "error"} {
			n := seen.Nodes[i]
			if n.Node != at[i] || n.Answer != want {
				t.Errorf("%s: node %d is %s and says %q, want %q", seen.Name, i, n.Node, n.Answer, want)
			}
			if closed := n.Quarantine > 0 && n.Quarantine <= 1100*maxTTL; closed != (i == 2) ||
				!closed && n.Quarantine != 0 {
				t.Errorf("%s: the grants of node %d are closed for %d ms", seen.Name, i, n.Quarantine)
			}
			if strings.Contains(n.Error, "NOPERM") != (i == 4) {
				t.Errorf("%s: the error of node %d: %q", seen.Name, i, n.Error)
			}
			if (want == "held") != (len(n.Holders) == 1) {
				t.Errorf("%s: the holders on node %d: %+v", seen.Name, i, n.Holders)
			}
			for _, h := range n.Holders {
				if h.Token != held.Entries[0].Holders[0].Token || h.TTL == nil || *h.TTL <= 0 || *h.TTL > 60_000 ||
					h.Holder == "" || h.Owner != nil {
					t.Errorf("%s: the holder on node %d: %+v", seen.Name, i, h)
				}
			}
		}
	}
	for i, says := range []string{`held by \S+ \S+, token \d+, ttl \S+`,
		`held by \S+ \S+, token \d+, ttl \S+`, `grants are closed for \S+`, `no answer`, `error: .*NOPERM.*`} {
		if !regexp.MustCompile(`(?m)^node ` + regexp.QuoteMeta(at[i]) + ` +` + says + `$`).MatchString(text) {
			t.Errorf("no line for node %d that says %s in:\n%s", i, says, text)
		}
	}
	if r := look(0, "--kind", "semaphore", "a"); r.out != "a is free\n" {
		t.Errorf("of a kind that a majority does not have: %q", r.out)
	}

	if err := servers[0].Pause(); err != nil {
		t.Fatal(err)
	}
	paused = 2
	r := look(69, "-o", "json", "a")
	few := decode[inspection](t, r)
	if few.Free != nil || len(few.Nodes) != 5 || few.Nodes[0].Answer != "no answer" || few.Nodes[2].Answer != "free" ||
		!strings.Contains(r.err, "2 of 5 nodes") {
		t.Errorf("when too few answer: %+v, %q", few, r.err)
	}
	if r := look(69, "a"); strings.Contains(r.out, "is free") || strings.Count(r.out, "node ") != 5 {
		t.Errorf("when too few answer: %q", r.out)
	}
	holder.in.Close()
	for _, s := range []*redisserver.Server{servers[0], servers[3]} {
		if err := s.Resume(); err != nil {
			t.Error(err)
		}
	}
}
