package redisson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// What servers may say of themselves, where it is hard to bring about.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	const healthy = "redis_version:7.0.15\nredis_mode:standalone\nrole:master\naof_enabled:1\n" +
		"maxmemory_policy:noeviction\n"
	const withReplica = "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=1\n"
	settings := map[string]string{
		"appendfsync": "always", "stop-writes-on-bgsave-error": "yes", "save": "3600 1",
		"min-replicas-to-write": "1", "min-replicas-max-lag": "10",
	}
	for name, c := range map[string]struct {
		info      string // in addition to what a healthy server says
		config    map[string]string
		isReplica bool
		sentinels bool
		want      string
	}{
		"healthy":        {},
		"an old version": {info: "redis_version:6.2.7", want: "critical old-version"},
		"a Valkey": {
			info: "redis_mode:\nserver_mode:standalone\nredis_version:7.2.4\nvalkey_version:8.0.1",
		},
		"a Sentinel that is a Valkey": {info: "redis_mode:\nserver_mode:sentinel", want: "critical wrong-mode"},
		"loading":                     {info: "loading:1", want: "critical loading"},
		"another master's":            {info: "role:slave", want: "critical replica-as-node"},
		"with a replica":              {info: withReplica, want: "warning no-guard"},
		"a replica that loads": {
			info: "slave0:ip=10.0.0.2,port=6379,state=send_bulk,offset=0,lag=0",
			want: "warning replica-down, warning no-guard",
		},
		"a replica that is behind": {
			info: "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=11",
			want: "warning replica-lag, warning no-guard",
		},
		"goes on when it is cut off": {
			info: withReplica, config: map[string]string{"appendfsync": "always"},
			want: "note min-replicas, warning no-guard",
		},
		"goes on when it is cut off, behind Sentinels": {
			info: withReplica, config: map[string]string{"appendfsync": "always"}, sentinels: true,
			want: "warning min-replicas, warning no-guard",
		},
		"a replica": {info: "role:slave", isReplica: true, config: map[string]string{}},
		"a replica that loads its data": {
			info: "role:slave\nloading:1", isReplica: true, want: "warning loading",
		},
		"a replica that evicts": {
			info: "role:slave\nmaxmemory:1000\nmaxmemory_policy:volatile-ttl", isReplica: true,
			want: "warning eviction-policy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &redis.Options{}
			if c.sentinels {
				o.Addr = health.FailoverAddress
			}
			client := redis.NewClient(o)
			defer client.Close()
			e, err := New(client)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			s := newExamined("10.0.0.1:6379")
			s.IsReplica = c.isReplica
			s.noteInfo(healthy + c.info)
			if s.Config = c.config; c.config == nil {
				s.Config = settings
			}
			var found []string
			for _, f := range e.judge(s) {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Code))
				if f.Server != "10.0.0.1:6379" || f.Text == "" || f.Fix == "" || strings.Contains(f.Text+f.Fix, "%!") {
					t.Errorf("the finding is %+v", f)
				}
			}
			if got := strings.Join(found, ", "); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// Slots without a master are a finding of the whole Cluster.
func TestCoverageIsJudged(t *testing.T) {
	t.Parallel()
	if found := health.JudgeCoverage(16384); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	found := health.JudgeCoverage(16383)
	if len(found) != 1 || found[0].Severity != driver.Critical || !strings.HasPrefix(found[0].Text, "1 of the 16384 ") {
		t.Errorf("found %+v", found)
	}
}
