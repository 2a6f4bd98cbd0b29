package postgres

import (
	"fmt"
	"strings"
	"testing"
)

// However a URL is broken, and wherever a piece of a password comes to stand by that, nobody is told of it.
func FuzzURLs(f *testing.F) {
	const secret = "Zq7Xw9Kv"
	schemes := []string{"postgres://", "postgresql://", "postgres:", ""}
	for i := range uint8(len(schemes)) {
		for _, around := range []string{"", "a", ":", "@", "/", "?", "#", "%", "%zz", "?a=1&", "?db=", "&timeout=", "/?x=", ",", "[", "]", " ", "\n", "\x00", "%40", "\xff"} {
			f.Add(i, around, "", "localhost", "", "")
			f.Add(i, "", around, "h1,h2,h3:99999", "/5", "?prefix=a&max_ttl=-1s")
			f.Add(i, around, around, "[::1", "/x/y", "?"+around)
		}
	}
	f.Fuzz(func(t *testing.T, scheme uint8, before, after, host, path, query string) {
		place := schemes[int(scheme)%len(schemes)]
		for _, raw := range []string{
			place + "anna:" + before + secret + after + "@" + host + path + query,              // the password
			place + host + path + "?password=" + secret + "&" + strings.TrimPrefix(query, "?"), // that of a parameter
		} {
			_, err := parseURL(raw)
			if err == nil {
				continue
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
				t.Fatalf("%q: %s", raw, text)
			}
		}
	})
}
