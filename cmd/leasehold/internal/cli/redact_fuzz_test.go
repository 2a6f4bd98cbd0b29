//go:build unix

package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// A message that quotes what was typed, in whatever way, does not tell the password in it.
func FuzzRedaction(f *testing.F) {
	const secret = "Zq7Xw9Kv"
	before := []string{"redis://", "--engine=redis://", "--limit=postgres://", "sqlite:", "REDIS://", "redis:", "x://"}
	for i := range uint8(len(before)) {
		for _, around := range []string{"", "a", ":", "@", "/", "?", "#", "%", "%25", "%zz", "%0a", "?a=1&", "/?x=", ",", " ", "\n", "\"", "\\", "\x00", "%40", "\xff", "é", "%C3%A9", "=", "***@"} {
			f.Add(i, around, "", "localhost")
			f.Add(i, "", around, "h/x?password="+secret)
		}
	}
	f.Fuzz(func(t *testing.T, scheme uint8, around, after, host string) {
		word := before[int(scheme)%len(before)] + "anna:" + around + secret + after + "@" + host
		decoded, err := url.PathUnescape(word)
		if err != nil {
			decoded = word
		}
		host = host[strings.LastIndex(host, "@")+1:]
		if strings.Contains(strings.ReplaceAll(host, "password="+secret, ""), secret) || strings.Contains(host, "&") {
			return // it is no password there
		}
		var r redaction
		r.learn("run", word, "NAME")
		for _, message := range []string{
			word, decoded, strconv.Quote(word), strconv.Quote(decoded), fmt.Sprintf("invalid argument %q for %q", word, "--limit"), "NAME is not allowed: " + strings.ToValidUTF8(word, "\ufffd"),
		} {
			if said := r.hide(message, true); strings.Contains(said, secret) && !strings.Contains(word, "=") {
				t.Fatalf("%q is told as %q", message, said)
			}
		}
	})
}
