//go:build !no_sqlite

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/sqlite"
)

// known are an engine with a host, and one without parameters.
var known = []engineOpener{
	{schemes: []string{"server", "servers"}, form: "server://HOST"},
	{schemes: []string{"file"}, form: "file:PATH"},
}

func TestSchemesLeadToEngines(t *testing.T) {
	t.Parallel()
	for raw, form := range map[string]string{
		"server://h":             "server://HOST",
		"servers://a:b@h1,h2:1/": "server://HOST",
		"file:a%20b":             "file:PATH",
		"file:":                  "file:PATH",
	} {
		if got, err := findOpener(raw, known); err != nil || got.form != form {
			t.Errorf("%s leads to %s, %v", raw, got.form, err)
		}
	}
}

func TestURLsWithoutAnEngineAreRefused(t *testing.T) {
	t.Parallel()
	const allowed = "server://HOST or file:PATH"
	for raw, want := range map[string]URLError{
		"":                   {Part: "a value without a scheme", Allowed: allowed},
		"host":               {Part: "a value without a scheme", Value: "host", Allowed: allowed},
		"geheim@host":        {Part: "a value without a scheme", Allowed: allowed},
		"anna:geheim@host":   {Part: "a value without a scheme", Allowed: allowed},
		"Other://h":          {Part: "a value without a scheme", Allowed: allowed},
		"other://h":          {Part: "scheme", Value: "other", Allowed: allowed},
		"other://geheim@h":   {Part: "scheme", Value: "other", Allowed: allowed},
		"server+more://h?x=": {Part: "scheme", Value: "server+more", Allowed: allowed},
	} {
		_, err := findOpener(raw, known)
		if got, ok := errors.AsType[*URLError](err); !ok || *got != want {
			t.Errorf("%q: %v, want %v", raw, err, &want)
		}
	}
}

// The paths of local engines are used as they were typed.
func TestLocalURLs(t *testing.T) {
	t.Parallel()
	const none = "left out: memory: has no parameters"
	for raw, want := range map[string]URLError{
		"memory:x":                       {Part: "what follows memory:", Value: "x", Allowed: "left out"},
		"memory:geheim@h":                {Part: "what follows memory:", Allowed: "left out"},
		"memory:?fast=1":                 {Part: "parameter", Value: "fast", Allowed: none},
		"sqlite:":                        {Part: "an empty path"},
		"sqlite://geheim@h":              {Part: "location"},
		"sqlite:redis://anna:geheim@h":   {Part: "a URL behind sqlite:"},
		"sqlite:a?fast=1":                {Part: "parameter", Value: "fast", Allowed: "one of share"},
		"sqlite:a?geheim":                {Part: "a parameter that is not known", Allowed: "one of share"},
		"sqlite:a@b?geheim=1":            {Part: "a parameter that is not known", Allowed: "one of share"},
		"sqlite:a?share=geheim":          {Part: "parameter", Value: "share", Allowed: "group or all, or left out"},
		"sqlite:a?share=all&share=group": {Part: "parameter", Value: "share", Allowed: "given once"},
	} {
		_, _, err := Open(raw)
		got, ok := errors.AsType[*URLError](err)
		if !ok || got.Part != want.Part || got.Value != want.Value || !strings.HasPrefix(got.Allowed, want.Allowed) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v, want %v", raw, err, &want)
		}
	}
	u := engineurl.SplitLocal("sqlite:a:b%20?share=all")
	var sharing sqlite.Sharing
	if err := sqliteSyntax.SetParameters(u, &sharing); err != nil || u.Path != "a:b%20" || sharing != sqlite.Everybody {
		t.Errorf("%s, %v, %v", u.Path, sharing, err)
	}
}

func TestEnginesOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, raw := range []string{
		"memory:", "sqlite:" + filepath.Join(dir, "a b.db"), "sqlite://" + filepath.Join(dir, "c%20.db"),
		// Nothing is sent yet, so no server need be there.
		"redis://localhost:1", "rediss://localhost:1", "redis+unix:///nowhere",
		"redis+sentinel://h1,h2/main", "rediss+sentinel://h1/main", "redis+cluster://h1,h2", "rediss+cluster://h1",
		"redisson://localhost:1", "redissons://localhost:1", "redisson+unix:///nowhere",
		"redisson+sentinel://h1,h2/main", "redissons+sentinel://h1/main", "redisson+cluster://h1,h2",
		"redissons+cluster://h1",
		"etcd://h1,h2", "etcds://h1",
	} {
		e, shut, err := Open(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if e.Abilities().Name == "" {
			t.Errorf("%s has no name", raw)
		}
		if err := shut(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, file := range []string{"a b.db", "c%20.db"} {
		if found, err := filepath.Glob(filepath.Join(dir, file)); err != nil || len(found) != 1 {
			t.Errorf("%s is not there: %v %v", file, found, err)
		}
	}
}

// The engine's error about its URL is a *URLError; an error about files is not.
func TestErrorsOfRedisURLs(t *testing.T) {
	t.Parallel()
	_, _, err := Open("redis://anna:geheim@h?fast=1")
	if wrong, ok := errors.AsType[*URLError](err); !ok || wrong.Part != "parameter" || wrong.Value != "fast" ||
		!strings.Contains(wrong.Allowed, "max_ttl") {
		t.Errorf("unknown parameter: %v", err)
	}
	_, _, err = Open("redlock://anna:geheim@h1,h2,h3?fast=1")
	if wrong, ok := errors.AsType[*URLError](err); !ok || wrong.Value != "fast" || wrong.Engine != "redlock" ||
		!strings.Contains(wrong.Allowed, "max_ttl") || !strings.Contains(wrong.Allowed, "node_timeout") {
		t.Errorf("unknown parameter of redlock: %v", err)
	}
	_, _, err = Open("redlock://anna:geheim@h1,h2,h3?pool=none")
	if wrong, ok := errors.AsType[*URLError](err); !ok || wrong.Value != "pool" || wrong.Engine != "redlock" {
		t.Errorf("wrong value of a parameter of redlock's servers: %v", err)
	}
	_, _, err = Open("rediss://anna:geheim@h?ca=" + filepath.Join(t.TempDir(), "nosuch.pem"))
	if _, ok := errors.AsType[*URLError](err); ok || !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "nosuch.pem") {
		t.Errorf("missing file: %v", err)
	}
}

// The same holds for the other engines, and none of the errors shows what may be part of a password.
func TestErrorsOfURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]URLError{
		"postgres://anna:geheim@h/d?max_ttl=geheim":     {Part: "parameter", Value: "max_ttl"},
		"postgresql://anna:ge%heim@h/d":                 {Part: "user name or password"},
		"postgres://anna:geheim@h:x/d":                  {Part: "something in it"},
		"etcd://anna:geheim@h?fast=geheim":              {Part: "parameter", Value: "fast"},
		"etcds://anna:ge/heim@h":                        {Part: "an @ behind the first slash"},
		"zookeeper://anna:geheim@h?fast=geheim":         {Part: "parameter", Value: "fast"},
		"redisson://anna:geheim@h?lock=geheim":          {Part: "parameter", Value: "lock"},
		"redisson+cluster://anna:geheim@h?max_ttl=2s":   {Part: "parameter", Value: "max_ttl"},
		"redissons://h1,:geheim@h2":                     {Part: "a user or a password inside of the list of hosts"},
		"redlock://:geheim@h1,:geheim@h2":               {Part: "a user or a password inside of the list of hosts"},
		"redlocks://h1,:geheim@h2":                      {Part: "a user or a password inside of the list of hosts"},
		"redlock://anna:1/geheim@h1,h2":                 {Part: "an @ behind the first slash"},
		"etcd://a:geheim@h1,a:geheim@h2":                {Part: "a user or a password inside of the list of hosts"},
		"etcds://anna:1/geheim@h":                       {Part: "an @ behind the first slash"},
		"zookeeper://anna:ge?heim@h":                    {Part: "port"},
		"zookeeper://anna:geheim@h?session_timeout=1ms": {Part: "parameter", Value: "session_timeout"},
	} {
		_, _, err := Open(raw)
		wrong, ok := errors.AsType[*URLError](err)
		if !ok || wrong.Part != want.Part || wrong.Value != want.Value || wrong.Allowed == "" ||
			strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestPasswordsAreTakenOutOfURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"sqlite:/a/b@c:d": "", "memory:": "", "redis://h/1?db=2": "", "redis://anna@h": "", "@/run/secrets/engine": "",
		"@/srv/a@b": "", "": "",
		"redis://anna:geheim@h:1/2?max_ttl=3s":                          "redis://anna@h:1/2?max_ttl=3s",
		"redisson+cluster://:geheim@h1,h2":                              "redisson+cluster://h1,h2",
		"redlocks://:geheim@h1,h2":                                      "redlocks://h1,h2",
		"postgres://anna:ge@heim@h/d":                                   "postgres://anna@h/d",
		"postgres:///d?host=/run&password=geheim&passfile=p":            "postgres:///d?host=/run&passfile=p",
		"postgres://anna@h/d?sslpassword=geheim":                        "postgres://anna@h/d",
		"redis+sentinel://h/m?sentinel_user=a&sentinel_password=geheim": "redis+sentinel://h/m?sentinel_user=a",
		"redis://anna:ge/heim@h":                                        "redis://",
		"postgres://h/d?user=u&password=geheim":                         "postgres://h/d?user=u",
		"host=h password=geheim":                                        Withheld,
		"geheim":                                                        Withheld,
		"anna:geheim@h:6379":                                            Withheld,
		"redis:anna:geheim@h":                                           Withheld,
		"Redis://anna:geheim@h":                                         "redis://anna@h",
		"jdbc:postgresql://h/d?user=u&password=geheim":                  Withheld,
		"sqlite:redis://anna:geheim@h":                                  Withheld,
		"sqlite:anna:geheim@h/x":                                        Withheld,
		"@redis://anna:geheim@h":                                        Withheld,
		"@anna:geheim@h":                                                Withheld,
		"mysql://anna:geheim@h":                                         Withheld,
	} {
		got, had := WithoutPassword(raw)
		if want == "" {
			want = raw
		}
		if got != want || had != (want != raw) {
			t.Errorf("%s became %s, %v", raw, got, had)
		}
	}
}

func TestTextsThatHoldAPassword(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"redis://anna:geheim@h": true, "redis://geheim@h": true, "REDIS:anna:geheim@h": true,
		"-oredis://anna:geheim@h": true, "@redis://anna:geheim@h": true, "sqlite:redis://anna:geheim@h": true,
		"postgres://anna:1/geheim@h/d": true, "postgres://h/d?user=u&password=geheim": true,
		"host=h password = geheim": true, "x?sslpassword=geheim": true, "x&api_token=geheim": true,
		"anna:geheim@h:6379": true, "anna:geheim@[::1]:6379/0": true, "anna:ge@heim@10.0.0.1:6379": true,
		"https://anna:geheim@h/x": true, "-orediss+sentinel://anna:ge/heim@h": true,
		"mail:anna@example.org": false, "mail:anna@example.org:7": false, "https://h:8080/package@v2": false,
		"git@h:anna/x": false, "ssh://git@h/x": false, "sqlite:/a@b/c": false, "compass=3": false,
		"password=": false,
		"":          false, "order:1001": false, "redis://h/1": false, "@": false, "token=43": false,
		"--token=43": false,
	} {
		if HoldsPassword(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
