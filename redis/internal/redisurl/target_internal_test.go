package redisurl

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func noEnvironment(string) string { return "" }

// parse parses a URL of an engine with one parameter of its own.
func parse(raw string, getenv func(string) string) (*Target, error) {
	return parseAs("redis", raw, getenv)
}

// parseAs parses a URL of an engine whose schemes begin in another way.
func parseAs(scheme, raw string, getenv func(string) string) (*Target, error) {
	type both struct {
		Target
		own string
	}
	syntax := Syntax[both]{
		Engine: scheme,
		Scheme: scheme,
		Variables: Variables{
			User: "A_USER", Password: "A_PASSWORD", SentinelUser: "A_SENTINEL_USER",
			SentinelPassword: "A_SENTINEL_PASSWORD",
		},
		Target: func(b *both) *Target { return &b.Target },
		Own:    []engineurl.Parameter[both]{engineurl.TextTo("own", func(b *both) *string { return &b.own })},
		Check: func(b *both, u *engineurl.URL) error {
			if b.own == "bad" {
				return u.BadParameter("own", "good")
			}
			return nil
		},
	}
	b := new(both)
	return &b.Target, syntax.Parse(raw, getenv, b)
}

func TestURLsSayWhereTheServerIs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		shape     shape
		tls       bool
		addresses string
		master    string
		db        int
	}{
		"redis://localhost":                         {oneServer, false, "localhost:6379", "", 0},
		"redis://localhost/":                        {oneServer, false, "localhost:6379", "", 0},
		"redis://10.0.0.1:7000/3":                   {oneServer, false, "10.0.0.1:7000", "", 3},
		"redis://localhost?db=3":                    {oneServer, false, "localhost:6379", "", 3},
		"rediss://[::1]":                            {oneServer, true, "[::1]:6379", "", 0},
		"rediss://[fe80::1%eth0]:7000":              {oneServer, true, "[fe80::1%eth0]:7000", "", 0},
		"redis://anna:geheim@my_redis.local.:6379":  {oneServer, false, "my_redis.local.:6379", "", 0},
		"redis+unix:///run/redis.sock":              {unixSocket, false, "/run/redis.sock", "", 0},
		"redis+unix://anna:geheim@/run/my%20r?db=2": {unixSocket, false, "/run/my r", "", 2},
		"redis+sentinel://h1/main":                  {behindSentinels, false, "h1:26379", "main", 0},
		"rediss+sentinel://a:b@h1:1,h2,[::1]/my%2Fmain?db=1": {
			behindSentinels, true, "h1:1,h2:26379,[::1]:26379", "my/main", 1,
		},
		"redis+cluster://h1,h2:7001,h1:6379": {clustered, false, "h1:6379,h2:7001", "", 0},
		"rediss+cluster://h1/?pool=3":        {clustered, true, "h1:6379", "", 0},
	} {
		got, err := parse(raw, noEnvironment)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		is := want
		is.shape, is.tls, is.addresses = got.shape, got.tls.On, strings.Join(got.addresses, ",")
		is.master, is.db = got.master, got.db
		if is != want {
			t.Errorf("%s became %+v, want %+v", raw, is, want)
		}
	}
}

func TestCredentialsFromTheURLAndTheEnvironment(t *testing.T) {
	t.Parallel()
	environment := map[string]string{
		"A_USER": "envuser", "A_PASSWORD": "envpass", "A_SENTINEL_USER": "envsu", "A_SENTINEL_PASSWORD": "envsp",
	}
	for _, c := range []struct {
		raw         string
		environment map[string]string
		want        string // user, password, sentinels' user, sentinels' password
	}{
		{"redis://h", nil, "|||"},
		{"redis://anna@h", nil, "anna|||"},
		{"redis://:geheim@h", nil, "|geheim||"},
		{"redis://anna:geheim@h", nil, "anna|geheim||"},
		{"redis://a%40b%3A:%2F%3f%23%25+:@h", nil, "a@b:|/?#%+:||"},
		{"redis://anna:ge@heim@h", nil, "anna|ge@heim||"},
		{"redis://h", environment, "envuser|envpass||"},
		{"redis://anna@h", environment, "anna|envpass||"},
		{"redis://anna:geheim@h", environment, "anna|geheim||"},
		{"redis+cluster://h", environment, "envuser|envpass||"},
		{"redis+sentinel://h/m", environment, "envuser|envpass|envsu|envsp"},
		{"redis+sentinel://anna:geheim@h/m?sentinel_user=s&sentinel_password=p%26q", environment, "anna|geheim|s|p&q"},
		{"redis+sentinel://anna:geheim@h/m", nil, "anna|geheim||"},
	} {
		got, err := parse(c.raw, func(name string) string { return c.environment[name] })
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		is := strings.Join([]string{got.user, got.password, got.sentinelUser, got.sentinelPassword}, "|")
		if is != c.want {
			t.Errorf("%s became %s, want %s", c.raw, is, c.want)
		}
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	got, err := parse("rediss://h?dial_timeout=7s&timeout=8s&pool=9&own=x"+
		"&ca=ca.pem&cert=c.pem&key=k.pem&server_name=example.org", noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	if got.dialTimeout != 7*time.Second || got.timeout != 8*time.Second || got.pool != 9 {
		t.Errorf("dial_timeout %s, timeout %s, pool %d", got.dialTimeout, got.timeout, got.pool)
	}
	files := engineurl.TLS{On: true, CA: "ca.pem", Cert: "c.pem", Key: "k.pem", ServerName: "example.org"}
	if got.tls != files {
		t.Errorf("TLS: %+v, want %+v", got.tls, files)
	}
	got, err = parse("redis://h", noEnvironment)
	if err != nil || got.dialTimeout != 2*time.Second || got.timeout != 3*time.Second || got.pool != 0 {
		t.Errorf("without parameters: dial_timeout %s, timeout %s, pool %d, %v", got.dialTimeout, got.timeout, got.pool,
			err)
	}
}

// The schemes of an engine, its parameters and its errors are its own.
func TestSchemesOfAnotherEngine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]shape{
		"kv://h/3": oneServer, "kvs://h": oneServer, "kv+unix:///a?db=3": unixSocket,
		"kv+sentinel://h/m":                  behindSentinels,
		"kvs+sentinel://h/m?sentinel_user=a": behindSentinels, "kv+cluster://h1,h2": clustered,
		"kvs+cluster://h1,h2?own=b": clustered,
	} {
		got, err := parseAs("kv", raw, noEnvironment)
		if secure := strings.HasPrefix(raw, "kvs"); err != nil || got.shape != want || got.tls.On != secure {
			t.Errorf("%s became %v, TLS %v, %v", raw, got.shape, got.tls.On, err)
		}
	}
	for raw, want := range map[string]string{
		"redis://h": "kv:// or kvs:// or kv+unix:// or kv+sentinel:// or kvs+sentinel:// or kv+cluster:// or " +
			"kvs+cluster://",
		"kvs+unix:///a": "kv+unix:// or",
		"kv://h1,h2": "as in kv://localhost:6379; " +
			"several servers are named by kv+sentinel:// or kv+cluster://",
		"kv://h/x":                     "as in kv://localhost:6379/0",
		"kv+unix://h/a":                "as in kv+unix:///run/redis.sock",
		"kv+unix://":                   "as in kv+unix:///run/redis.sock",
		"kv+sentinel://h":              "as in kv+sentinel://h1,h2,h3/mymaster",
		"kv+cluster://h?db=1":          "belongs to kv:// or kvs:// or kv+unix:// or kv+sentinel:// or kvs+sentinel://",
		"kv://h?ca=a":                  "it belongs to kvs:// or kvs+sentinel:// or kvs+cluster://",
		"kv://h?sentinel_user=a":       "it belongs to kv+sentinel:// or kvs+sentinel://",
		"kv://h?fast=1":                "one of db, own, dial_timeout, timeout, pool",
		"kvs+sentinel://h/m?fast=1":    "own, dial_timeout, timeout, pool, sentinel_user, sentinel_password, ca, cert,",
		"kv+cluster://h?own=bad&pool=": "a number from 1 to 10000",
		"kv+cluster://h?own=bad":       "good",
	} {
		_, err := parseAs("kv", raw, noEnvironment)
		wrong, ok := errors.AsType[*engineurl.Error](err)
		if !ok || wrong.Engine != "kv" || !strings.Contains(wrong.Allowed, want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}
