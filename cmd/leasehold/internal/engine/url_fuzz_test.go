//go:build !no_sqlite

package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
	"github.com/leasehold-go/leasehold/sqlite"
)

// However a URL is broken, the command neither shows a part of a password in it nor passes it on to the programs that
// it runs.
func FuzzURLs(f *testing.F) {
	const secret = "Zq7Xw9Kv"
	schemes := []string{"redis://", "rediss+sentinel://", "redlock://", "redissons+sentinel://", "postgres://",
		"etcd://", "zookeeper://", "memory:", "sqlite:", "redsi://", "REDIS://", "redis:", "", "//", "x:y:"}
	for i := range uint8(len(schemes)) {
		for _, around := range []string{"", "a", ":", "@", "/", "?", "#", "%", "%zz", "?a=1&", "&share=", "/?x=", ",",
			"[", " ", "\n", "\x00", "%40", "\xff"} {
			f.Add(i, around, "", "localhost", "", "")
			f.Add(i, "", around, "h1,h2,h3:99999", "/5", "?prefix=a&max_ttl=-1s")
		}
	}
	f.Fuzz(func(t *testing.T, scheme uint8, before, after, host, path, query string) {
		raw := schemes[int(scheme)%len(schemes)] + "anna:" + before + secret + after + "@" + host + path + query
		o, err := findOpener(raw, openers)
		if err == nil && o.form == "memory:" {
			_, _, err = o.open(raw)
		}
		if err == nil {
			u := engineurl.SplitLocal(raw)
			err = sqliteSyntax.SetParameters(u, new(sqlite.Sharing))
			if err == nil && o.form == "sqlite:PATH" {
				_, err = sqlitePath(u.Path)
			}
		}
		if err != nil && strings.Contains(fmt.Sprintf("%v %#v", err, err), secret) {
			t.Fatalf("%q: %v", raw, err)
		}
		if scheme := int(scheme) % len(schemes); scheme < 7 { // the others lead to no server
			stripped, had := WithoutPassword(raw)
			if !had || strings.Contains(stripped, secret) {
				t.Fatalf("%q becomes %q, %v", raw, stripped, had)
			}
			if _, again := WithoutPassword(stripped); again && stripped != schemes[scheme] {
				t.Fatalf("%q becomes %q, with a password", raw, stripped)
			}
		}
	})
}
