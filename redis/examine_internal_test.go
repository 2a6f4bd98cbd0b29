package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// What servers may say of themselves, where it is hard to bring about.
func TestExamineJudges(t *testing.T) {
	t.Parallel()
	const healthy = "run_id:1\nredis_version:7.0.15\nredis_mode:standalone\nrole:master\naof_enabled:1\n" +
		"maxmemory_policy:noeviction\n"
	settings := map[string]string{
		"appendfsync": "always", "stop-writes-on-bgsave-error": "yes", "save": "3600 1",
		"min-replicas-to-write": "1", "min-replicas-max-lag": "10",
	}
	without := func(setting string) map[string]string {
		less := map[string]string{}
		for name, value := range settings {
			if name != setting {
				less[name] = value
			}
		}
		return less
	}
	for name, c := range map[string]struct {
		info   string // in addition to what a healthy server says
		config map[string]string
		change func(*serverReport)
		want   string
	}{
		"healthy": {},
		"Valkey": {
			info: "server_name:valkey\nvalkey_version:8.0.1\nredis_version:7.2.4\nserver_mode:standalone",
		},
		"an unknown mode": {info: "server_mode:ring", want: "critical unknown-server"},
		"an old version":  {info: "redis_version:6.2.7", want: "critical old-version"},
		"no run id":       {info: "run_id:", want: "critical unknown-server"},
		"loading":         {info: "loading:1", want: "critical loading"},
		"nearly full":     {info: "maxmemory:1000\nused_memory:950", want: "warning memory-nearly-full"},
		"not nearly full": {info: "maxmemory:1000\nused_memory:950\nmem_not_counted_for_evict:100"},
		"full":            {info: "maxmemory:1000\nused_memory:1000", want: "critical memory-full"},
		"full, and evicts": {
			info: "maxmemory:1000\nused_memory:1000\nmaxmemory_policy:volatile-ttl",
			want: "critical eviction-policy",
		},
		"cannot append": {info: "aof_last_write_status:err", want: "critical saving-fails"},
		"could not append, and does not now": {
			info: "aof_enabled:0\naof_last_write_status:err",
			want: "note persistence-snapshots",
		},
		"cannot save, and stops": {info: "rdb_last_bgsave_status:err", want: "critical saving-fails"},
		"cannot save, and perhaps stops": {
			info:   "rdb_last_bgsave_status:err",
			config: without("stop-writes-on-bgsave-error"),
			want:   "warning saving-fails",
		},
		"cannot save, and goes on": {
			info:   "rdb_last_bgsave_status:err",
			config: without("save"),
			want:   "note saving-fails",
		},
		"many clients": {info: "connected_clients:9\nmaxclients:10", want: "warning clients-nearly-full"},
		"a replica that loads": {
			info: "slave0:ip=10.0.0.2,port=6379,state=send_bulk,offset=0,lag=0",
			want: "warning replica-down, note replicas-without-wait",
		},
		"a replica that is behind": {
			info: "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=11",
			want: "warning replica-lag, note replicas-without-wait",
		},
		"a healthy replica": {
			info: "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=1",
			want: "note replicas-without-wait",
		},
		"a replica, and the master goes on": {
			info:   "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=1",
			config: without("min-replicas-to-write"),
			want:   "note replicas-without-wait, note min-replicas",
		},
		"a Cluster that is slow to fail over": {
			change: func(r *serverReport) { r.info.mode = modeCluster },
			info:   "slave0:ip=10.0.0.2,port=6379,state=online,offset=7,lag=1",
			config: map[string]string{"cluster-node-timeout": "40000", "appendfsync": "always"},
			want:   "note replicas-without-wait, warning two-masters",
		},
		"nothing may be read but INFO": {config: map[string]string{}, want: "note config-unreadable"},
		"not even INFO": {
			change: func(r *serverReport) { r.infoFields = nil; r.rights.denied = []string{"+info"} },
			want:   "critical rights",
		},
		"a replica with fewer rights": {
			change: func(r *serverReport) { r.isReplica = true; r.rights.denied = []string{"+get"} },
			want:   "warning rights",
		},
		"no answer, which the core reports": {
			change: func(r *serverReport) { r.server.Err = driver.ErrSilent; r.infoFields = nil },
		},
		"rights are unknown": {change: func(r *serverReport) { r.rights.unknown = true }, want: "note rights-untold"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redis.NewClient(&redis.Options{})
			defer client.Close()
			e, err := New(client)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r := newServerReport("10.0.0.1:6379")
			r.noteInfo(healthy + c.info)
			if r.config = c.config; c.config == nil {
				r.config = settings
			}
			if c.change != nil {
				c.change(r)
			}
			var found []string
			for _, f := range e.judge(r) {
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

func TestSlotsOfAClusterAreCounted(t *testing.T) {
	t.Parallel()
	const text = `b 10.0.0.2:6379@16379 master,fail - 0 0 2 connected 5463-16383
a 10.0.0.1:6379@16379,one myself,master - 0 0 1 connected 0-5460 5462 [5461->-b]
c 10.0.0.3:6379@16379 slave a 0 0 1 connected
d 10.0.0.4:6379@16379 master - 0 0 3 connected
`
	all := mastersOf(text)
	type seen struct {
		address string
		myself  bool
		first   uint16
		count   int
	}
	var got []seen
	for _, n := range all {
		got = append(got, seen{n.address, n.myself, n.firstSlot(), n.slotCount()})
	}
	want := []seen{{"10.0.0.1:6379", true, 0, 5462}, {"10.0.0.2:6379", false, 5463, 10921}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v in the order of addresses", got, want)
	}
	e := &Engine{}
	if found := e.judgeCoverage(all); len(found) != 1 || !strings.HasPrefix(found[0].Text, "1 of the 16384 slots") {
		t.Errorf("found %+v", found)
	}
}

// Missing rights are read from the errors of servers of different versions.
func TestRefusalsOfAllVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"NOPERM this user has no permissions to run the 'info' command", "+info"},
		{"NOPERM this user has no permissions to run the 'cluster|nodes' command or its subcommand", "+cluster|nodes"},
		{"NOPERM User locks has no permissions to run the 'script|load' command", "+script|load"},
		{"ERR unknown command 'EVALSHA', with args beginning with: 'a' ", "hidden +evalsha"},
		{"NOPERM this user has no permissions to access one of the keys used as arguments", ""},
		{"ERR The user executing the script can't run this command or subcommand script: 0 on @user_script:", ""},
		{"LOADING Redis is loading the dataset in memory", "error"},
	} {
		var missing missingRights
		got := ""
		if err := missing.noteDenied(replyError(c.text)); err != nil {
			got = "error"
		}
		got += strings.Join(missing.denied, " ")
		if len(missing.hidden) > 0 {
			got += "hidden " + strings.Join(missing.hidden, " ")
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}
}

// replyError is an answer of a server.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func TestExamineTellsOfConnectionsThatOthersCanHear(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://localhost:1":           "",
		"redis+unix:///run/redis.sock":  "",
		"rediss://anna:geheim@h":        "",
		"redis://h":                     "note tls-off",
		"redis://anna:geheim@h":         "warning tls-off",
		"redis+cluster://:geheim@h1,h2": "warning tls-off",
	} {
		e, err := openWith(url, noEnvironment)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := ""
		for _, f := range e.judgeConnection(e.opened.LastAddress()) {
			got += fmt.Sprint(f.Severity, " ", f.Code)
		}
		if err := e.Close(); err != nil || got != want {
			t.Errorf("%s: found %q, want %q; %v", url, got, want, err)
		}
	}
}
