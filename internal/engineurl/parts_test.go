package engineurl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func TestParts(t *testing.T) {
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
		p, fault := engineurl.Split(rest)
		if got := fmt.Sprintf("%s | %s | %s | %s", p.User, p.Password, p.Hosts, p.Path); fault != nil ||
			strings.ReplaceAll(got, "  ", " ") != want {
			t.Errorf("%s is %q, %+v, want %q", rest, got, fault, want)
		}
	}
	for rest, part := range map[string]string{
		"anna:geheim#@h": "a # in it", "anna:100%geheim@h": "user name or password",
		"an%na:geheim@h":               "user name or password",
		":geheim@h1,:geheim@h2":        "a user or a password inside of the list of hosts",
		"anna:geheim@h1:1,h2,berta@h3": "a user or a password inside of the list of hosts",
		"h1,:geheim@h2":                "a user or a password inside of the list of hosts",
		"h1:6379,anna:geheim@h2,h3":    "a user or a password inside of the list of hosts",
		"h1,anna@h2":                   "a user or a password inside of the list of hosts",
		"anna:1/geheim@h":              "an @ behind the first slash",
		"anna:ge@h/heim@h":             "an @ behind the first slash",
	} {
		if p, fault := engineurl.Split(rest); fault == nil || fault.Part != part || p != (engineurl.Parts{}) ||
			strings.Contains(fmt.Sprint(*fault), "geheim") {
			t.Errorf("%s is %+v, %+v, want a fault of the %s", rest, p, fault, part)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	p := engineurl.Parts{Hosts: "a,b:8,a:7"}
	if all, fault := p.Addresses("7", "7"); fault != nil || !slices.Equal(all, []string{"a:7", "b:8"}) {
		t.Errorf("%s is %q, %+v", p.Hosts, all, fault)
	}
	p.Hosts = "a,,b"
	if all, fault := p.Addresses("7", "7"); fault == nil || fault.Part != "host" || all != nil {
		t.Errorf("%s is %q, %+v", p.Hosts, all, fault)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	known := []string{"one", "two"}
	elsewhere := func(name string) string { return map[string]string{"tls": "others://"}[name] }
	for rest, want := range map[string]string{
		"h":                 "",
		"h?two=2&one=a%20b": "one a b, two 2",
		"h?one=bad":         `{parameter one good}`,
		"h?one=1&one=2":     `{parameter one given once}`,
		"h?three=3":         `{parameter three one of one, two}`,
		"h?tls=on":          `{parameter tls left out: it belongs to others://}`,
		"h?a%zz":            `{what follows the question mark  name=value pairs joined by &, percent-encoded}`,
		"h?geheim":          `{a parameter that is not known  one of one, two}`,
		"h?Ge-heim=1":       `{a parameter that is not known  one of one, two}`,
		// A password with a question mark.
		"anna:ge?heim=1@h": `{a parameter that is not known  one of one, two}`,
		// A user with an @, and the same.
		"anna@b.de:1?geheim=1@h":        `{a parameter that is not known  one of one, two}`,
		"anna:ok@h?three=3&mail=a@b.de": `{a parameter that is not known  one of one, two}`, // which may be such a user
	} {
		p, fault := engineurl.Split(rest)
		if fault != nil {
			t.Errorf("%s: %+v", rest, *fault)
			continue
		}
		var got []string
		fault = p.Parameters(known, elsewhere, func(name, value string) string {
			if value == "bad" {
				return "good"
			}
			got = append(got, name+" "+value)
			return ""
		})
		if fault != nil {
			got = []string{fmt.Sprint(*fault)}
		}
		if said := strings.Join(got, ", "); said != want {
			t.Errorf("%s says %q, want %q", rest, said, want)
		}
	}
}
