package engineurl_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]string{
		"h":                        " | | h | ",
		"h1,h2:7/":                 " | | h1,h2:7 | /",
		"anna@h/a/b%20c":           "anna | | h | /a/b%20c",
		"anna:ge%3Aheim@h?a=1":     "anna | ge:heim | h | ",
		":p@ss@h":                  " | p@ss | h | ",
		"anna:1,2@h1,h2":           "anna | 1,2 | h1,h2 | ",
		"anna:a,b:c@h1,h2":         "anna | a,b:c | h1,h2 | ",
		":p%40,h1@h":               " | p@,h1 | h | ",
		"/run/a@b":                 " | | | /run/a@b",
		"anna:a+b%2F%3F%23%40@h/x": "anna | a+b/?#@ | h | /x",
	} {
		u, err := grammar.Split("test://" + rest)
		if err != nil {
			t.Errorf("%s: %v", rest, err)
			continue
		}
		got := fmt.Sprintf("%s | %s | %s | %s", u.User, u.Password, u.Hosts, u.Path)
		if strings.ReplaceAll(got, "  ", " ") != want || u.Scheme != "test" {
			t.Errorf("%s is %q, want %q", rest, got, want)
		}
	}
	for raw, want := range map[string]engineurl.Error{
		"test://anna:geheim#@h": {Part: "a # in it"}, "test://anna:100%geheim@h": {Part: "user name or password"},
		"test://an%na:geheim@h":               {Part: "user name or password"},
		"test://:geheim@h1,:geheim@h2":        {Part: "a user or a password inside of the list of hosts"},
		"test://anna:geheim@h1:1,h2,berta@h3": {Part: "a user or a password inside of the list of hosts"},
		"test://h1,:geheim@h2":                {Part: "a user or a password inside of the list of hosts"},
		"test://h1:6379,anna:geheim@h2,h3":    {Part: "a user or a password inside of the list of hosts"},
		"test://h1,anna@h2":                   {Part: "a user or a password inside of the list of hosts"},
		"test://anna:1/geheim@h":              {Part: "an @ behind the first slash"},
		"test://anna:ge@h/heim@h":             {Part: "an @ behind the first slash"},
		"":                                    {Part: "a value without a scheme"},
		"geheim":                              {Part: "a value without a scheme"},
		"anna:geheim@h":                       {Part: "a value without a scheme"},
		"toast://geheim":                      {Part: "scheme", Value: "toast"},
	} {
		u, err := grammar.Split(raw)
		fault, is := errors.AsType[*engineurl.Error](err)
		if !is || u != nil || fault.Part != want.Part || fault.Value != want.Value || fault.Engine != "test" ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want what is wrong with the %s", raw, err, want.Part)
		}
	}
	const says = "test engine: URL: a value without a scheme is not allowed: " +
		"it must be one that begins with test:// or tests:// or test+more://"
	if _, err := grammar.Split("x"); err.Error() != says {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	u := engineurl.URL{Hosts: "a,b:8,a:7"}
	if all, err := u.Addresses("7", "7"); err != nil || !slices.Equal(all, []string{"a:7", "b:8"}) {
		t.Errorf("%s is %q, %v", u.Hosts, all, err)
	}
	u.Hosts = "a,,b"
	if all, err := u.Addresses("7", "7"); all != nil || !strings.HasPrefix(err.Error(), "engine URL: host is not") {
		t.Errorf("%s is %q, %v", u.Hosts, all, err)
	}
}

func TestLocalURLs(t *testing.T) {
	t.Parallel()
	for raw, path := range map[string]string{
		"file:a%20b": "a%20b", "file:a:b?": "a:b", "file:": "", "file:///c": "///c",
	} {
		u := engineurl.SplitLocal(raw)
		if u.Scheme != "file" || u.Path != path {
			t.Errorf("%s is %q", raw, u.Path)
		}
	}
	var none engineurl.Syntax[struct{}]
	for raw, want := range map[string]engineurl.Error{
		"file:a?fast=1":          {Part: "parameter", Value: "fast", Allowed: "left out: file: has no parameters"},
		"file:a?password=geheim": {Part: "parameter", Value: "password", Allowed: "left out: file: has no parameters"},
		"file:a?geheim":          {Part: "a parameter that is not known", Allowed: "left out: file: has no parameters"},
		"file:a?geheim=1@h":      {Part: "a parameter that is not known", Allowed: "left out: file: has no parameters"},
	} {
		err := none.SetParameters(engineurl.SplitLocal(raw), nil)
		if got, is := errors.AsType[*engineurl.Error](err); !is || *got != want {
			t.Errorf("%q: %v, want %v", raw, err, &want)
		}
	}
}

// What the URL leaves out comes from the environment.
func TestLogin(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"USER": "env user", "PASSWORD": "env password"}
	getenv := func(name string) string { return environment[name] }
	login := func(raw string) (string, error) {
		u, err := grammar.Split(raw)
		if err != nil {
			return "", err
		}
		user, password, err := u.Login(getenv, "USER", "PASSWORD")
		return user + "/" + password, err
	}
	for raw, want := range map[string]string{
		"test://h": "env user/env password", "test://anna@h": "anna/env password", "test://:x@h": "env user/x",
		"test://anna:x@h": "anna/x",
	} {
		if got, err := login(raw); err != nil || got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	environment = map[string]string{"PASSWORD_FILE": filepath.Join(t.TempDir(), "nosuch")}
	if _, err := login("test://h"); err == nil || !strings.HasPrefix(err.Error(), "test engine: PASSWORD_FILE: ") {
		t.Errorf("a file that is not there: %v", err)
	}
	environment = map[string]string{"USER_FILE": filepath.Join(t.TempDir(), "nosuch")} // users are no secrets
	if got, err := login("test://h"); got != "/" || err != nil {
		t.Errorf("a file with the user: %q, %v", got, err)
	}
}
