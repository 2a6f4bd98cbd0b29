// Package urlfuzz is the fuzz target that the URLs of all engines share.
package urlfuzz

import (
	"fmt"
	"strings"
	"testing"
)

// secret is the password. It resembles nothing else in the input, so it is found wherever it
// appears.
const secret = "Zq7Xw9Kv"

// pieces are inserted to break a URL.
var pieces = []string{"", "a", ":", "@", "/", "?", "#", "%", "%zz", "?a=1&", "?db=", "&timeout=", "/?x=", ",", "[", "]",
	" ", "\n", "\x00", "%40", "\xff"}

// Run checks that no error shows a password, however a URL is broken and wherever a piece of the
// password ends up. schemes are the beginnings of URLs. parameter is the name of a parameter that
// is also a password. parse returns the error of opening a URL, and contacts no server.
func Run(f *testing.F, schemes []string, parameter string, parse func(raw string) error) {
	for i := range uint8(len(schemes)) {
		for _, around := range pieces {
			f.Add(i, around, "", "localhost", "", "")
			f.Add(i, "", around, "h1,h2,h3:99999", "/5", "?prefix=a&max_ttl=-1s")
			f.Add(i, around, around, "[::1", "/x/y", "?"+around)
		}
	}
	f.Fuzz(func(t *testing.T, scheme uint8, before, after, host, path, query string) {
		begin := schemes[int(scheme)%len(schemes)]
		for _, raw := range []string{
			begin + "anna:" + before + secret + after + "@" + host + path + query,
			begin + host + path + "?" + parameter + "=" + secret + "&" + strings.TrimPrefix(query, "?"),
		} {
			err := parse(raw)
			if err == nil {
				continue
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(strings.ToLower(text),
				strings.ToLower(secret)) {
				t.Fatalf("%q: %s", raw, text)
			}
		}
	})
}
