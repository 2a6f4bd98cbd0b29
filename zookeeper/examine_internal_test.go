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

// healthyReport is a report on three servers in good order.
func healthyReport() *ensembleReport {
	er := &ensembleReport{voters: 3, wantedTimeout: 40 * time.Second, givenTimeout: 40 * time.Second}
	for i, role := range []string{"follower", "leader", "follower"} {
		sr := newServerReport(fmt.Sprintf("10.0.0.%d:2181", i+1))
		sr.server.Role, sr.server.Version, sr.serves = role, "3.8.4", true
		sr.firstZxid, sr.lastZxid, sr.maxTimeout, sr.flushes, sr.syncs = 100, 107, 40*time.Second, 7, 7
		er.servers = append(er.servers, sr)
	}
	return er
}

// What servers answer, and the findings that follow.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	alone := func(sr *serverReport, first, last uint64) {
		sr.server.Role, sr.firstZxid, sr.lastZxid = "standalone", first, last
	}
	for name, c := range map[string]struct {
		change func(*ensembleReport)
		want   string
	}{
		"well": {func(*ensembleReport) {}, ""},
		"nothing is known but that they serve": {func(er *ensembleReport) {
			er.voters, er.givenTimeout = 0, 0
			for _, sr := range er.servers {
				sr.server.Version, sr.maxTimeout, sr.flushes, sr.syncs = "", 0, -1, -1
			}
		}, ""},
		"in clear": {func(er *ensembleReport) {
			er.plainDialer = true
		}, "note tls-off, note tls-off, note tls-off"},
		"in clear, and a password": {func(er *ensembleReport) {
			er.plainDialer, er.sendsPassword = true, true
		}, "warning tls-off, warning tls-off, warning tls-off"},
		"one is down": {func(er *ensembleReport) {
			er.servers[0].serves, er.servers[0].server.Err = false, io.EOF
		}, ""},
		"one is cut off": {func(er *ensembleReport) {
			er.servers[0].serves, er.servers[0].hasNoLeader, er.servers[0].server.Err = false, true, errServesNobody
		}, ""},
		"no leader": {func(er *ensembleReport) {
			for i, sr := range er.servers {
				sr.serves, sr.hasNoLeader = false, i > 0
			}
		}, "critical no-leader"},
		"two that are alone": {func(er *ensembleReport) {
			alone(er.servers[0], 5, 6)
			alone(er.servers[2], 900, 901)
			er.servers, er.voters = []*serverReport{er.servers[0], er.servers[2]}, 0
		}, "critical different-clusters, critical different-clusters"},
		"one that is alone, with two names": {func(er *ensembleReport) {
			alone(er.servers[0], 5, 7)
			alone(er.servers[1], 7, 9)
			er.servers, er.voters = er.servers[:2], 0
		}, ""},
		"one that is alone beside an ensemble": {func(er *ensembleReport) {
			alone(er.servers[0], 5, 6)
		}, "critical different-clusters"},
		"one": {func(er *ensembleReport) {
			er.voters, er.servers = 1, er.servers[:1]
		}, "note too-few-members"},
		"two": {func(er *ensembleReport) {
			er.voters, er.servers = 2, er.servers[:2]
		}, "warning too-few-members"},
		"four": {func(er *ensembleReport) {
			er.voters = 4
			er.servers = append(er.servers, er.servers[0])
		}, "note even-number"},
		"not all are named": {func(er *ensembleReport) {
			er.servers = er.servers[:2]
		}, "note servers-not-named"},
		"shorter sessions": {func(er *ensembleReport) {
			er.wantedTimeout = time.Minute
		}, "note session-timeout"},
		"longer sessions": {func(er *ensembleReport) {
			er.wantedTimeout = time.Second
		}, "note session-timeout"},
		"shorter sessions on one": {func(er *ensembleReport) {
			er.servers[2].maxTimeout = 39 * time.Second
		}, "critical session-limits-differ"},
		"longer sessions on one": {func(er *ensembleReport) {
			er.servers[2].maxTimeout = 41 * time.Second
		}, ""},
		"different versions": {func(er *ensembleReport) {
			er.servers[2].server.Version = "3.9.2"
		}, "note different-versions"},
		"an old version": {func(er *ensembleReport) {
			er.servers[2].server.Version = "3.5.10"
		}, "note different-versions, warning old-version"},
		"a new version": {func(er *ensembleReport) {
			er.servers = er.servers[:1]
			er.voters = 0
			er.servers[0].server.Version = "4.0"
		}, ""},
		"no waiting for the disk": {func(er *ensembleReport) {
			er.servers[1].syncs = 0
		}, "warning sync-off"},
		"nothing was written so far": {func(er *ensembleReport) {
			er.servers[1].flushes, er.servers[1].syncs = 0, 0
		}, ""},
		"it is not told": {func(er *ensembleReport) {
			er.servers[1].flushes, er.servers[1].syncs = 7, -1
		}, ""},
		"words are refused": {func(er *ensembleReport) {
			er.servers[1].refusedWords = []string{"conf", "mntr"}
		}, "note words-not-allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			er := healthyReport()
			c.change(er)
			var found []string
			for _, f := range er.judge() {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
				if f.Text == "" || f.Fix == "" || strings.Contains(f.Text+f.Fix, "%!") {
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

// Answers of servers with other versions and states than those that tests can start.
func TestMeasure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, version, role  string
		serves, without, fails bool
	}{
		"3.4": {"Zookeeper version: 3.4.14-4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT\n" +
			"Latency min/avg/max: 0/0/0\nZxid: 0x1a00000000\nMode: follower\n",
			"3.4.14", "follower", true, false, false},
		"3.9": {"Zookeeper version: 3.9.2-1f0a5ad, built on 2024-02-12 20:59 UTC\n" +
			"Zxid: 0x0\nMode: observer\nNode count: 5\n",
			"3.9.2", "observer", true, false, false},
		"reads only": {"Zookeeper version: 3.9.2-1f0a5ad, built on 2024-02-12 20:59 UTC\n" +
			"Zxid: 0x0\nMode: read-only\n",
			"3.9.2", "read-only", false, true, false},
		"no leader":     {"This ZooKeeper instance is not currently serving requests\n", "", "", false, true, true},
		"not allowed":   {"srvr is not executed because it is not in the whitelist.\n", "", "", false, false, false},
		"another thing": {"-ERR unknown command 'srvr'\r\n", "", "", false, false, true},
		"silence":       {"", "", "", false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sr := newServerReport(fakeServer(t, c.answer))
			sr.measure(t.Context())
			p := sr.server
			if p.Version != c.version || p.Role != c.role || sr.serves != c.serves || sr.hasNoLeader != c.without ||
				(p.Err != nil) != c.fails {
				t.Errorf("it is %+v", sr)
			}
			if p.Err == nil && p.RoundTrip <= 0 {
				t.Errorf("the round trip took %v", p.RoundTrip)
			}
		})
	}
}

// An examination does not wait for a silent server longer than it should.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the system accepts connections, and nobody answers
	sr := newServerReport(l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	sr.measure(ctx)
	if !errors.Is(sr.server.Err, driver.ErrSilent) {
		t.Errorf("the error is %v", sr.server.Err)
	}
}
