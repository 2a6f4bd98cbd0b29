package zookeeper

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func noEnvironment(string) string { return "" }

func TestURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]config{
		"zookeeper://localhost":  {servers: []string{"localhost:2181"}, prefix: "/leasehold"},
		"zookeeper://localhost/": {servers: []string{"localhost:2181"}, prefix: "/leasehold"},
		"zookeeper://a,b:1,[::1]:2,a": {
			servers: []string{"a:2181", "b:1", "[::1]:2"}, prefix: "/leasehold",
		},
		"zookeeper://a/teams/x":             {servers: []string{"a:2181"}, prefix: "/teams/x/leasehold"},
		"zookeeper://a/teams?prefix=/locks": {servers: []string{"a:2181"}, prefix: "/teams/locks"},
		"zookeeper://a?prefix=%2Flocks%2Fx": {servers: []string{"a:2181"}, prefix: "/locks/x"},
		"zookeepers://a,b:1?ca=a.pem": {
			servers: []string{"a:2281", "b:1"}, prefix: "/leasehold", tls: engineurl.TLS{On: true, CA: "a.pem"},
		},
		"zookeeper://anna:ge%40heim%2F@a": {
			servers: []string{"a:2181"}, prefix: "/leasehold", user: "anna", password: "ge@heim/",
		},
		"zookeeper://a?session_timeout=9s&timeout=1s": {
			servers: []string{"a:2181"}, prefix: "/leasehold", sessionTimeout: 9 * time.Second, timeout: time.Second,
		},
	} {
		if want.sessionTimeout == 0 {
			want.sessionTimeout, want.timeout = DefaultSessionTimeout, DefaultTimeout
		}
		got, err := parseURL(raw, noEnvironment)
		same := slices.Equal(got.servers, want.servers)
		got.servers, want.servers = nil, nil
		if err != nil || !same || !isEqual(got, want) {
			t.Errorf("%s is %+v, %v", raw, got, err)
		}
	}
}

func isEqual(a, b config) bool {
	return a.prefix == b.prefix && a.sessionTimeout == b.sessionTimeout && a.timeout == b.timeout && a.user == b.user &&
		a.password == b.password && a.tls == b.tls
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	environment := func(name string) string { return map[string]string{EnvUser: "anna", EnvPassword: "geheim"}[name] }
	for raw, want := range map[string]string{
		"zookeeper://a":         "anna:geheim",
		"zookeeper://berta@a":   "berta:geheim",
		"zookeeper://berta:x@a": "berta:x",
	} {
		c, err := parseURL(raw, environment)
		if got := c.user + ":" + c.password; err != nil || got != want {
			t.Errorf("%s logs in as %s, %v, want %s", raw, got, err, want)
		}
	}
}

// Errors say what is wrong, and nothing that may be a password.
func TestBadURLs(t *testing.T) {
	t.Parallel()
	for raw, part := range map[string]string{
		"geheim":                                 "without a scheme",
		"zoo://geheim":                           `scheme "zoo"`,
		"zookeeper://":                           "host",
		"zookeeper://a,":                         "host",
		"zookeeper://geheim!":                    "host",
		"zookeeper://a:geheim":                   "port",
		"zookeeper://a:0":                        "port",
		"zookeeper://[geheim]":                   "host",
		"zookeeper://a#geheim":                   "a # in it",
		"zookeeper://anna:gehe%im@a":             "user name or password",
		"zookeeper://anna@a":                     "user name or password",
		"zookeeper://:geheim@a":                  "user name or password",
		"zookeeper://an%3Ana:geheim@a":           "user name or password",
		"zookeeper://a/geheim/../x":              "path",
		"zookeeper://anna:1/geheim@a":            "first slash",
		"zookeeper://u:geheim@a,u:geheim@b":      "USER:PASSWORD@HOST1,HOST2",
		"zookeeper://a/zookeeper":                "path",
		"zookeeper://a/x/":                       "path",
		"zookeeper://a?prefix=geheim":            `parameter "prefix"`,
		"zookeeper://a?prefix=/zookeeper/geheim": `parameter "prefix"`,
		"zookeeper://a?timeout=geheim":           `parameter "timeout"`,
		"zookeeper://a?timeout=1h":               `parameter "timeout"`,
		"zookeeper://a?session_timeout=1ms":      `parameter "session_timeout"`,
		"zookeeper://a?timeout=1s&timeout=2s":    `parameter "timeout"`,
		"zookeeper://a?db=1":                     `parameter "db"`,
		"zookeeper://a?ca=geheim":                "zookeepers://",
		"zookeepers://a?ca=":                     "PEM",
		"zookeepers://a?cert=geheim":             "cert and key",
		"zookeepers://a?server_name=-geheim":     "certificate",
		"zookeepers://a?tls=geheim":              `parameter "tls"`,
		"zookeeper://anna:x?geheim@a":            "port",
		"zookeeper://anna?geheim=1@a":            "not known",
		"zookeeper://a?%zz=geheim":               "question mark",
	} {
		_, err := parseURL(raw, noEnvironment)
		if _, is := errors.AsType[*URLError](
			err,
		); !is || !strings.Contains(err.Error(), part) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want what is wrong with the %s", raw, err, part)
		}
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*Engine, error){
		"servers":         func() (*Engine, error) { return New(t.Context(), nil) },
		"list of servers": func() (*Engine, error) { return New(t.Context(), []string{"a:b:c"}) },
		"WithPrefix":      func() (*Engine, error) { return New(t.Context(), []string{"a"}, WithPrefix("locks")) },
		"WithSessionTimeout": func() (*Engine, error) {
			return New(t.Context(), []string{"a"}, WithSessionTimeout(time.Millisecond))
		},
		"WithTimeout": func() (*Engine, error) { return New(t.Context(), []string{"a"}, WithTimeout(0)) },
		"WithAuth":    func() (*Engine, error) { return New(t.Context(), []string{"a"}, WithAuth("anna", "")) },
	} {
		e, err := open()
		if _, is := errors.AsType[*OptionError](err); !is || e != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasswordOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{EnvPassword + "_FILE": file}
	getenv := func(name string) string { return environment[name] }
	if c, err := parseURL("zookeeper://anna@a", getenv); err != nil || c.password != "geheim" {
		t.Errorf("the password is %q, %v", c.password, err)
	}
	environment[EnvPassword+"_FILE"] += "x"
	if _, err := parseURL(
		"zookeeper://anna@a",
		getenv,
	); err == nil ||
		!strings.Contains(err.Error(), EnvPassword+"_FILE") {
		t.Errorf("a file that is not there: %v", err)
	}
}
