//go:build unix

package main

import (
	"crypto/sha1"
	"encoding/base64"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// With the documented parameter, users other than the one that locks can look and remove locks.
func TestSmallestRightsOnZooKeeper(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{Unsynced: true})
	page, err := os.ReadFile("../../docs/engines/zookeeper.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`(?m)^zookeeper://shop@\S+\?(acl=\S+)$`).FindSubmatch(page)
	if documented == nil {
		t.Fatal("the documentation does not tell of the parameter")
	}
	hashes := regexp.MustCompile(`digest:(\w+):HASH`)
	acl := hashes.ReplaceAllStringFunc(string(documented[1]), func(found string) string {
		user := strings.Split(found, ":")[1]
		hash := sha1.Sum([]byte(user + ":" + geheim))
		return "digest:" + user + ":" + url.QueryEscape(base64.StdEncoding.EncodeToString(hash[:]))
	})
	at := func(user, parameters string) string {
		return "zookeeper://" + withPassword(user) + s.Addr() + parameters
	}
	m := newMachine(t).use(at("shop_look", ""))
	if r := m.do("ls").want(t, 0); strings.Count(r.out, "\n") != 1 {
		t.Errorf("the listing is %q", r.out)
	}
	m.use(at("shop", "?"+acl))
	holder := m.hold("a")
	wantReadOnly(t, m, at("shop_look", ""), "lacks the right to create on the node /leasehold",
		"lacks the right to delete on the node /leasehold/lock/a ")
	m.use(at("shop_look", ""))
	r := m.do("doctor", "-o", "json")
	if !strings.Contains(r.out, `"rights-look"`) || strings.Contains(r.out, `"critical"`) {
		t.Errorf("the doctor says %q, %q", r.out, r.err)
	}
	m.use(at("shop_operate", "?"+acl))
	m.do("leaks", "--fix", "--yes").want(t, 0)
	m.do("release", "--force", "--yes", "a").want(t, 0).wantNoSecret(t)
	holder.in.Close()
	holder.wait().want(t, 70)
}
