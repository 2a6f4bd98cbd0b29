//go:build unix

package main

import (
	"encoding/base64"
	"os"
	"regexp"
	"testing"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// openEtcd is a server with users: anna, who has the rights that the documentation says are enough, and berta, who has none.
func openEtcd(t *testing.T) *site {
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true, Args: []string{"--bcrypt-cost=4"}})
	type object map[string]any
	for _, step := range []struct {
		path    string
		request object
	}{
		{"user/add", object{"name": "root", "password": "of all"}},
		{"role/add", object{"name": "root"}},
		{"user/grant", object{"user": "root", "role": "root"}},
		{"role/add", object{"name": "locks"}},
		{"role/grant", object{"name": "locks", "perm": object{"permType": "READWRITE", "key": inBase64(documentedPrefix(t)), "range_end": inBase64(afterPrefix(documentedPrefix(t)))}}},
		{"user/add", object{"name": "anna", "password": geheim}},
		{"user/grant", object{"user": "anna", "role": "locks"}},
		{"user/add", object{"name": "berta", "password": geheim}},
		{"enable", object{}},
	} {
		if err := s.Call("/v3/auth/"+step.path, step.request, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	return &site{
		url: "etcd://" + withPassword("anna") + s.Addr(),
		broken: map[string]string{
			"DOWN":     "etcd://" + withPassword("anna") + closed(t, 1)[0],
			"WRONG":    "etcd://anna:wrong-geheim@" + s.Addr(),
			"NORIGHTS": "etcd://" + withPassword("berta") + s.Addr(),
		},
	}
}

// documentedPrefix is the prefix of the keys that the documentation grants.
func documentedPrefix(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/engines/etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^etcdctl role grant-permission locks --prefix=true readwrite (\S+)$`).FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/engines/etcd.md does not tell of the smallest rights")
	}
	return string(found[1])
}

// afterPrefix is the first key that does not begin with the prefix.
func afterPrefix(prefix string) string {
	return prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
