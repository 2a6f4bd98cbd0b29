package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func noEnv(string) string { return "" }

func TestURLs(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{EnvUser: "env user", EnvPassword: "env password"}[name]
	}
	for _, c := range []struct {
		url  string
		env  func(string) string
		want target
	}{
		{"etcd://localhost", noEnv, target{addresses: []string{"localhost:2379"}}},
		{"etcd://a:1,b,[::1]:3,a:1", noEnv, target{addresses: []string{"a:1", "b:2379", "[::1]:3"}}},
		{"etcd://us%40er:p%3A%2Fw@a/?timeout=1s&dial_timeout=500ms", noEnv,
			target{
				addresses: []string{"a:2379"}, user: "us@er", password: "p:/w",
				timeout: time.Second, dialTimeout: 500 * time.Millisecond,
			}},
		{"etcd://a", env, target{addresses: []string{"a:2379"}, user: "env user", password: "env password"}},
		{"etcd://me:mine@a", env, target{addresses: []string{"a:2379"}, user: "me", password: "mine"}},
		{"etcds://a?ca=x&cert=y&key=z&server_name=n", noEnv,
			target{
				addresses: []string{"a:2379"},
				tls:       engineurl.TLS{On: true, CA: "x", Cert: "y", Key: "z", ServerName: "n"},
			}},
	} {
		if c.want.timeout == 0 {
			c.want.timeout, c.want.dialTimeout = defaultTimeout, defaultDialTimeout
		}
		if got, err := parseURL(c.url, c.env); err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v", c.url, got, err)
		}
	}
	e, err := openWith("etcd://127.0.0.1:1?prefix=mine/&timeout=77ms", noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if e.prefix != "mine/" || e.requestTimeout != 77*time.Millisecond {
		t.Errorf("the prefix is %q, the limit %v", e.prefix, e.requestTimeout)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}

// An error says what is allowed, and nothing of what may be a password.
func TestWrongURLs(t *testing.T) {
	t.Parallel()
	const secret = "Xsecret"
	for url, says := range map[string]string{
		"":                              "begins with etcd:// or etcds://",
		secret:                          "begins with etcd://",
		"redis://h":                     `scheme "redis"`,
		"etcd://":                       "a name or an address",
		"etcd://h,":                     "a name or an address",
		"etcd://u:" + secret:            "a number from 1 to 65535",
		"etcd://u:" + secret + "/a@h":   "an @ behind the first slash",
		"etcd://u:" + secret + "#@h":    "%23",
		"etcd://u:%zz" + secret + "@h":  "percent-encoded",
		"etcd://" + secret + "@h":       "both, or none",
		"etcd://h/" + secret:            "left out",
		"etcd://h?nothing=1":            `"nothing" is not allowed: it must be one of prefix, timeout, dial_timeout`,
		"etcd://h?a" + secret + "@h=1":  "a parameter that is not known",
		"etcd://h?%zz":                  "name=value pairs",
		"etcd://h?ca=x":                 "etcds://",
		"etcd://h?timeout=0s":           "above zero",
		"etcd://h?timeout=1s&timeout=1": "given once",
		"etcd://h?prefix=":              "1 to 128 bytes",
		"etcds://h?cert=x":              "both, or none",
		"etcds://h?server_name=-":       "certificate",
		"etcds://h?ca=":                 "PEM",
		"etcd://h:0":                    "1 to 65535",
		"etcd://[1.2.3.4]":              "a name or an address",
	} {
		e, err := openWith(url, noEnv)
		if e != nil {
			t.Errorf("%s is allowed", url)
			continue
		}
		_, ok := errors.AsType[*URLError](err)
		if !ok || !strings.Contains(err.Error(), says) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
	for url, says := range map[string]string{
		"etcds://h?ca=/nothing":             "parameter ca: open /nothing",
		"etcds://h?ca=url_internal_test.go": "no certificate in it",
		"etcds://h?cert=/n&key=/n":          "parameters cert and key",
	} {
		if _, err := openWith(url, noEnv); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
	if _, err := New(nil); !errors.Is(err, errNoClient) {
		t.Errorf("New without a client: %v", err)
	}
	err := WithPrefix("a\x00")(&config{})
	if err == nil || !strings.Contains(err.Error(), "WithPrefix must be 1 to 128 bytes") {
		t.Errorf("a prefix with a zero byte: %v", err)
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
	if target, err := parseURL("etcd://anna@a", getenv); err != nil || target.password != "geheim" {
		t.Errorf("the password: %v", err)
	}
	environment[EnvPassword+"_FILE"] += "x"
	if _, err := parseURL("etcd://anna@a", getenv); err == nil || !strings.Contains(err.Error(), EnvPassword+"_FILE") {
		t.Errorf("a file that is not there: %v", err)
	}
}
