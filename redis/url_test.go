package redis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func noEnvironment(string) string { return "" }

func TestVariablesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	environment := map[string]string{
		"LEASEHOLD_REDIS_USER": "envuser", "LEASEHOLD_REDIS_PASSWORD": "envpass",
		"LEASEHOLD_REDIS_SENTINEL_USER": "envsu", "LEASEHOLD_REDIS_SENTINEL_PASSWORD": "envsp",
	}
	var asked []string
	_, err := parseURL("redis+sentinel://h/m", func(name string) string {
		asked = append(asked, name)
		return environment[name]
	})
	for name := range environment {
		if !slices.Contains(asked, name) {
			t.Errorf("%s is not read: %v", name, err)
		}
	}
}

func TestURLParametersAreOptions(t *testing.T) {
	t.Parallel()
	got, err := parseURL("redis://h?prefix=a%26b:&max_ttl=2m&guard=off&replicas=2&replicas_wait=50ms"+
		"&retention=48h&polling=on", noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	c := config{guard: true}
	for _, o := range got.opts {
		if err := o(&c); err != nil {
			t.Fatal(err)
		}
	}
	want := config{
		prefix: "a&b:", maxTTL: 2 * time.Minute, replicas: 2, replicasWithin: 50 * time.Millisecond,
		retention: 48 * time.Hour, polling: true,
	}
	if c != want {
		t.Errorf("the options are %+v, want %+v", c, want)
	}
}

func TestURLsWithoutParametersChangeNothing(t *testing.T) {
	t.Parallel()
	got, err := parseURL("redis://h", noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	before := config{prefix: DefaultPrefix, maxTTL: DefaultMaxTTL, guard: true, retention: DefaultTokenRetention}
	after := before
	for _, o := range got.opts {
		if err := o(&after); err != nil {
			t.Fatal(err)
		}
	}
	if after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

// The error of a broken URL says what is wrong and what is allowed, and nothing secret.
func TestBrokenURLs(t *testing.T) {
	t.Parallel()
	const (
		anyScheme  = "redis://"
		escape     = "%2F"
		noScheme   = "a value without a scheme"
		parameters = "one of db, prefix, max_ttl, guard, replicas, replicas_wait, retention, polling, " +
			"dial_timeout, timeout, pool"
		userInList = "a user or a password inside of the list of hosts"
	)
	// Each contains "geheim" or "anna" where a secret or a user name may stand.
	for _, c := range []struct{ raw, part, value, allowed string }{
		{"", noScheme, "", anyScheme},
		{"geheim", noScheme, "", anyScheme},
		{"anna:geheim@host", noScheme, "", anyScheme},
		{"anna:geheim@host://", noScheme, "", anyScheme},
		{"redis:anna:geheim@host", noScheme, "", anyScheme},
		{"redis+://anna:geheim@host", "scheme", "redis+", "redis+sentinel:// or"},
		{"mysql://anna:geheim@host/db", "scheme", "mysql", anyScheme},
		{"redis://anna:ge#heim@host", "a # in it", "", "%23"},
		{"redis://anna:geheim%zz@host", "user name or password", "", "%25"},
		{"redis://anna%:geheim@host", "user name or password", "", "%25"},
		{"redis://", "host", "", "localhost"},
		{"redis:///3", "host", "", "localhost"},
		{"redis://anna:geheim@", "host", "", "localhost"},
		{"redis://anna:geheim@:6379", "host", "", "localhost"},
		{"redis://anna:geheim@a b", "host", "", "localhost"},
		{"redis://anna:geheim@::1", "host", "", "[::1]:6379"},
		{"redis://anna:geheim@[::1", "host", "", "[::1]:6379"},
		{"redis://anna:geheim@[localhost]", "host", "", "[::1]:6379"},
		{"redis://anna:geheim@[1.2.3.4]", "host", "", "[::1]:6379"},
		{"redis://anna:geheim", "port", "", "1 to 65535"}, // the host was forgotten
		{"redis://anna:geheim/0", "port", "", "1 to 65535"},
		{"redis://anna:1234567", "port", "", "1 to 65535"},
		{"redis://host:0", "port", "", "1 to 65535"},
		{"redis://host:", "port", "", "1 to 65535"},
		{"redis://host:6379geheim", "port", "", "1 to 65535"},
		{"redis://anna:geheim/x@host", "an @ behind the first slash", "", escape},
		{"redis://anna:geheim?x@host", "port", "", escape},
		{"redis://anna:12/geheim@host", "an @ behind the first slash", "", escape},
		{"redis+sentinel://anna:12/geheim@host", "an @ behind the first slash", "", escape},
		{"redis+sentinel://:geheim@h1,:geheim@h2/m", userInList, "", "USER:PASSWORD@HOST1,HOST2"},
		{"rediss+cluster://h1,anna:geheim@h2", userInList, "", "USER:PASSWORD@HOST1,HOST2"},
		{"redis://anna:12?geheim@host", "a parameter that is not known", "", parameters},
		{"redis://anna:12?geheim=3@host", "a parameter that is not known", "", parameters},
		{"redis://h?geheim", "a parameter that is not known", "", parameters},
		{"redis://h?db=3&GEHEIM=x", "a parameter that is not known", "", parameters},
		{"redis://h1,h2", "list of hosts", "", "redis+cluster://"},
		{"redis://h/geheim", "path", "", "number of the database"},
		{"redis://h/%zzgeheim", "path", "", "number of the database"},
		{"redis://h/1/2", "path", "", "number of the database"},
		{"redis://h/-1", "path", "", "number of the database"},
		{"redis://h/1?db=1", "parameter", "db", "not be in the path as well"},
		{"redis+unix://h/run/geheim", "host", "", "redis+unix:///run"},
		{"redis+unix://anna:geheim@", "path", "", "socket"},
		{"redis+unix:///", "path", "", "socket"},
		{"redissocket+unix:///a", "scheme", "redissocket+unix", anyScheme},
		{"redis+sentinel://h1,h2", "path", "", "name of the master"},
		{"redis+sentinel://h1,h2/", "path", "", "name of the master"},
		{"redis+sentinel://h1/geheim/2", "path", "", "name of the master"},
		{"redis+sentinel://h1,/m", "host", "", "localhost"},
		{"redis+sentinel://,h1/m", "host", "", "localhost"},
		{"redis+sentinel://anna:geheim,h2/m", "port", "", "1 to 65535"},
		{"redis+cluster://h/3", "path", "", "one database"},
		{"redis+cluster://h?db=3", "parameter", "db", "left out: it belongs to redis:// or rediss:// or redis+unix://"},
		{"redis://h?ca=geheim", "parameter", "ca", "left out: it belongs to rediss://"},
		{"redis://h?sentinel_password=geheim", "parameter", "sentinel_password", "redis+sentinel://"},
		{"redis://h?fast=geheim", "parameter", "fast", parameters},
		{"redis://anna:geheim@h?addr=a@geheim", "a parameter that is not known", "", parameters},
		{"rediss://h?insecure=geheim", "parameter", "insecure", parameters + ", ca, cert, key, server_name"},
		{"redis+sentinel://h/m?fast=1", "parameter", "fast", parameters + ", sentinel_user, sentinel_password"},
		{"redis://h?%zzgeheim", "what follows the question mark", "", "name=value"},
		{"redis://h?db=%zzgeheim", "parameter", "db", "percent-encoded"},
		{"redis://h?db=1;geheim=2", "what follows the question mark", "", "name=value"},
		{"redis://h?db=1&db=2", "parameter", "db", "given once"},
		{"redis://h?db=geheim", "parameter", "db", "0 to 65535"},
		{"redis://h?db=", "parameter", "db", "0 to 65535"},
		{"redis://h?db=65536", "parameter", "db", "0 to 65535"},
		{"redis://h?prefix=", "parameter", "prefix", "1 to 128 bytes"},
		{"redis://h?prefix={geheim}", "parameter", "prefix", "without braces"},
		{"redis://h?max_ttl=geheim", "parameter", "max_ttl", "a duration"},
		{"redis://h?max_ttl=60", "parameter", "max_ttl", "a duration"},
		{"redis://h?max_ttl=1ms", "parameter", "max_ttl", "between 1s"},
		{"redis://h?guard=geheim", "parameter", "guard", "off, or left out"},
		{"redis://h?guard=on", "parameter", "guard", "off, or left out"},
		{"redis://h?polling=off", "parameter", "polling", "on, or left out"},
		{"redis://h?replicas=geheim", "parameter", "replicas", "0 to 100"},
		{"redis://h?replicas=-1", "parameter", "replicas", "0 to 100"},
		{"redis://h?replicas=101", "parameter", "replicas", "0 to 100"},
		{"redis://h?replicas_wait=1s", "parameter", "replicas_wait", "next to replicas"},
		{"redis://h?replicas=1&replicas_wait=0s", "parameter", "replicas_wait", "above zero"},
		{"redis://h?replicas=1&replicas_wait=1h", "parameter", "replicas_wait", "1ms to 5s"},
		{"redis://h?retention=1m", "parameter", "retention", "1h"},
		{"redis://h?dial_timeout=0s", "parameter", "dial_timeout", "above zero"},
		{"redis://h?timeout=-5s", "parameter", "timeout", "above zero"},
		{"redis://h?pool=0", "parameter", "pool", "1 to 10000"},
		{"rediss://h?ca=", "parameter", "ca", "PEM"},
		{"rediss://h?server_name=gehe im", "parameter", "server_name", "certificate"},
		{"rediss://h?cert=geheim", "only one of the parameters cert and key", "", "both"},
		{"rediss://h?key=geheim", "only one of the parameters cert and key", "", "both"},
	} {
		e, err := Open(c.raw)
		if err == nil {
			t.Errorf("%s is allowed", c.raw)
			_ = e.Close()
			continue
		}
		wrong, ok := errors.AsType[*URLError](err)
		if !ok || wrong.Part != c.part || wrong.Value != c.value || !strings.Contains(wrong.Allowed, c.allowed) {
			t.Errorf("%s: %q %q, want %q %q and %q", c.raw, err, wrong.Value, c.part, c.value, c.allowed)
		}
		text := fmt.Sprintf("%v %+v %#v", err, err, wrong)
		if strings.Contains(strings.ToLower(text), "geheim") || strings.Contains(text, "heim") ||
			strings.Contains(text, "anna") || strings.Contains(text, "1234567") {
			t.Errorf("the error of %s reveals a secret: %s", c.raw, text)
		}
	}
}
