//go:build unix

package main

import (
	"encoding/base64"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// openEtcd starts a server with two users: anna, who has the rights for locking by the documentation, and berta, who
// has none.
func openEtcd(t *testing.T) *testServers {
	s := etcdWithUsers(t, map[string]string{"anna": "lock", "berta": ""})
	return &testServers{
		url: "etcd://" + withPassword("anna") + s.Addr(),
		broken: map[string]string{
			"DOWN":     "etcd://" + withPassword("anna") + closed(t, 1)[0],
			"WRONG":    "etcd://anna:wrong-geheim@" + s.Addr(),
			"NORIGHTS": "etcd://" + withPassword("berta") + s.Addr(),
		},
	}
}

// etcdWithUsers starts a server with users, each of whom has one of the documented roles, or none.
func etcdWithUsers(t *testing.T, users map[string]string) *etcdserver.Server {
	t.Helper()
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true, Args: []string{"--bcrypt-cost=4"}})
	type object map[string]any
	call := func(path string, request object) {
		t.Helper()
		if err := s.Call("/v3/auth/"+path, request, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	call("user/add", object{"name": "root", "password": "of all"})
	call("role/add", object{"name": "root"})
	call("user/grant", object{"user": "root", "role": "root"})
	for user, role := range users {
		call("user/add", object{"name": user, "password": geheim})
		if role == "" {
			continue
		}
		call("role/add", object{"name": role})
		for right, prefixes := range documentedRoles(t, role) {
			for _, prefix := range prefixes {
				call("role/grant", object{"name": role,
					"perm": object{"permType": right, "key": inBase64(prefix),
						"range_end": inBase64(afterPrefix(prefix))}})
			}
		}
		call("user/grant", object{"user": user, "role": role})
	}
	call("enable", object{})
	return s
}

// documentedRoles returns the rights of a role by the documentation: the prefixes of keys for READ and for READWRITE.
func documentedRoles(t *testing.T, role string) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/engines/etcd.md")
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string][]string{}
	for _, found := range regexp.MustCompile(
		`(?m)^etcdctl role grant-permission `+role+` --prefix=true (\w+) (\S+)$`).FindAllStringSubmatch(string(page),
		-1) {
		right := strings.ToUpper(found[1])
		rights[right] = append(rights[right], found[2])
	}
	if len(rights) == 0 {
		t.Fatalf("docs/engines/etcd.md does not tell of the rights to %s", role)
	}
	return rights
}

// afterPrefix returns the first key after all keys with the prefix.
func afterPrefix(prefix string) string {
	return prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
