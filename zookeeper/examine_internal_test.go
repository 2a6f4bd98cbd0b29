package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// well is a survey of three servers of which all is well.
func well() *survey {
	s := &survey{voters: 3, asked: 40 * time.Second, given: 40 * time.Second}
	for i, role := range []string{"follower", "leader", "follower"} {
		v := newVisit(fmt.Sprintf("10.0.0.%d:2181", i+1))
		v.place.Role, v.place.Version, v.serves = role, "3.8.4", true
		v.first, v.last, v.longest, v.flushes, v.syncs = 100, 107, 40*time.Second, 7, 7
		s.visits = append(s.visits, v)
	}
	return s
}

// What servers say of themselves, and what is made of it.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	alone := func(v *visit, first, last uint64) {
		v.place.Role, v.first, v.last = "standalone", first, last
	}
	for name, c := range map[string]struct {
		change func(*survey)
		want   string
	}{
		"well": {func(*survey) {}, ""},
		"nothing is known but that they serve": {func(s *survey) {
			s.voters, s.given = 0, 0
			for _, v := range s.visits {
				v.place.Version, v.longest, v.flushes, v.syncs = "", 0, -1, -1
			}
		}, ""},
		"in clear":                 {func(s *survey) { s.plain = true }, "note tls-off, note tls-off, note tls-off"},
		"in clear, and a password": {func(s *survey) { s.plain, s.user = true, true }, "warning tls-off, warning tls-off, warning tls-off"},
		"one is down":              {func(s *survey) { s.visits[0].serves, s.visits[0].place.Err = false, io.EOF }, ""},
		"one is cut off": {func(s *survey) {
			s.visits[0].serves, s.visits[0].without, s.visits[0].place.Err = false, true, errServesNobody
		}, ""},
		"no leader": {func(s *survey) {
			for i, v := range s.visits {
				v.serves, v.without = false, i > 0
			}
		}, "critical no-leader"},
		"two that are alone": {func(s *survey) {
			alone(s.visits[0], 5, 6)
			alone(s.visits[2], 900, 901)
			s.visits, s.voters = []*visit{s.visits[0], s.visits[2]}, 0
		}, "critical different-clusters, critical different-clusters"},
		"one that is alone, with two names": {func(s *survey) {
			alone(s.visits[0], 5, 7)
			alone(s.visits[1], 7, 9)
			s.visits, s.voters = s.visits[:2], 0
		}, ""},
		"one that is alone beside an ensemble": {func(s *survey) { alone(s.visits[0], 5, 6) }, "critical different-clusters"},
		"one":                                  {func(s *survey) { s.voters, s.visits = 1, s.visits[:1] }, "note too-few-members"},
		"two":                                  {func(s *survey) { s.voters, s.visits = 2, s.visits[:2] }, "warning too-few-members"},
		"four": {func(s *survey) {
			s.voters = 4
			s.visits = append(s.visits, s.visits[0])
		}, "note even-number"},
		"not all are named":          {func(s *survey) { s.visits = s.visits[:2] }, "note servers-not-named"},
		"shorter sessions":           {func(s *survey) { s.asked = time.Minute }, "note session-timeout"},
		"longer sessions":            {func(s *survey) { s.asked = time.Second }, "note session-timeout"},
		"shorter sessions on one":    {func(s *survey) { s.visits[2].longest = 39 * time.Second }, "critical session-limits-differ"},
		"longer sessions on one":     {func(s *survey) { s.visits[2].longest = 41 * time.Second }, ""},
		"different versions":         {func(s *survey) { s.visits[2].place.Version = "3.9.2" }, "note different-versions"},
		"an old version":             {func(s *survey) { s.visits[2].place.Version = "3.5.10" }, "note different-versions, warning old-version"},
		"a new version":              {func(s *survey) { s.visits = s.visits[:1]; s.voters = 0; s.visits[0].place.Version = "4.0" }, ""},
		"no waiting for the disk":    {func(s *survey) { s.visits[1].syncs = 0 }, "warning sync-off"},
		"nothing was written so far": {func(s *survey) { s.visits[1].flushes, s.visits[1].syncs = 0, 0 }, ""},
		"it is not told":             {func(s *survey) { s.visits[1].flushes, s.visits[1].syncs = 7, -1 }, ""},
		"words are refused":          {func(s *survey) { s.visits[1].refused = []string{"conf", "mntr"} }, "note words-not-allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := well()
			c.change(s)
			var found []string
			for _, f := range s.judge() {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
				if f.Text == "" || f.Mend == "" || strings.Contains(f.Text+f.Mend, "%!") {
					t.Errorf("it says %+v", f)
				}
			}
			if got := strings.Join(found, ", "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// fakeServer answers every word with a text.
func fakeServer(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, len("srvr")))
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// Answers of servers of other versions and states than those that tests can start.
func TestGreetings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, version, role  string
		serves, without, fails bool
	}{
		"3.4": {"Zookeeper version: 3.4.14-4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT\nLatency min/avg/max: 0/0/0\nZxid: 0x1a00000000\nMode: follower\n",
			"3.4.14", "follower", true, false, false},
		"3.9":           {"Zookeeper version: 3.9.2-1f0a5ad, built on 2024-02-12 20:59 UTC\nZxid: 0x0\nMode: observer\nNode count: 5\n", "3.9.2", "observer", true, false, false},
		"reads only":    {"Zookeeper version: 3.9.2-1f0a5ad, built on 2024-02-12 20:59 UTC\nZxid: 0x0\nMode: read-only\n", "3.9.2", "read-only", false, true, false},
		"no leader":     {"This ZooKeeper instance is not currently serving requests\n", "", "", false, true, true},
		"not allowed":   {"srvr is not executed because it is not in the whitelist.\n", "", "", false, false, false},
		"another thing": {"-ERR unknown command 'srvr'\r\n", "", "", false, false, true},
		"silence":       {"", "", "", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisit(fakeServer(t, c.answer))
			v.greet(t.Context())
			p := v.place
			if p.Version != c.version || p.Role != c.role || v.serves != c.serves || v.without != c.without || (p.Err != nil) != c.fails {
				t.Errorf("it is %+v", v)
			}
			if p.Err == nil && p.RoundTrip <= 0 {
				t.Errorf("the round trip took %v", p.RoundTrip)
			}
		})
	}
}

// Nobody waits for a server that says nothing for longer than wanted.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the system takes connections, and nobody answers
	v := newVisit(l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	v.greet(ctx)
	if !errors.Is(v.place.Err, driver.ErrSilent) {
		t.Errorf("the error is %v", v.place.Err)
	}
}
