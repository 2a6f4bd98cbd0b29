//go:build unix

package cli

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"
)

// secretShape is a way to type a password: after begin, and before end. A message may quote the word from anywhere
// before the end of begin.
type secretShape struct {
	before, begin, end string
	certain            bool // it cannot be the name of a lock
}

var secretShapes = []secretShape{
	{"", "redis://anna:", "@", true}, {"--engine=", "redis://anna:", "@", true},
	{"--limit=", "postgres://anna:", "@", true}, {"", "redis:anna:", "@", true}, {"", "REDIS://anna:", "@", true},
	{"", "x://anna:", "@", false}, {"", "redis://", "@", true}, {"-o", "redis://anna:", "@", true},
	{"-no", "redis://anna:", "@", true}, {"-nE", "anna:", "@", false}, {"@", "redis://anna:", "@", true},
	{"sqlite:", "redis://anna:", "@", true}, {"sqlite:/no/", "anna:", "@", true}, {"sqlite:", "anna:", "@", true},
	{"postgres://anna:1/", "", "@", true}, {"jdbc:", "postgresql://anna:", "@", true},
	{"", "anna:", "@", false}, {"", "", "@", false}, {"-p", "anna:", "@", false},
	{"", "password=", "", true}, {"host=h ", "password=", " user=u", true}, {"--limit=host=h ", "passwd = ", "", true},
	{"-o", "PWD=", ";", true}, {"jdbc:postgresql://h/db?user=u&", "password=", "&x=1", true},
	{"postgres://h/db?", "password=", "&user=u", true}, {"redis+sentinel://h/m?", "sentinel_password=", "", true},
	{"https://h?", "token=", "", true},
}

// A message that quotes the input, in whatever way, does not show the password in it.
func FuzzRedaction(f *testing.F) {
	const secret = "Zq7Xw9Kv"
	for i := range uint8(len(secretShapes)) {
		for _, around := range []string{"", "a", ":", "@", "/", "//", "?", "#", "%", "%25", "%zz", "%0a", "?a=1&",
			"/?x=", ",", " ", "\n", "\"", "\\", "'", ";", "\x00", "%40", "\xff", "é", "%C3%A9", "=", "***@",
			"password="} {
			f.Add(i, around, "", "localhost")
			f.Add(i, "", around, "h:6379/x?db=1")
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, around, after, rest string) {
		shape := secretShapes[int(at)%len(secretShapes)]
		word := shape.before + shape.begin + around + secret + after + shape.end + rest
		var messages []string
		var r redaction
		r.add("run", word, "NAME")
		for _, cut := range []int{0, min(1, len(shape.before)), min(2, len(shape.before)), len(shape.before)} {
			quoted := word[cut:]
			decoded, err := url.PathUnescape(quoted)
			if err != nil {
				decoded = quoted
			}
			messages = append(messages, quoted, decoded, strconv.Quote(quoted), strconv.Quote(decoded),
				fmt.Sprintf("invalid argument %q for %q", quoted, "--limit"),
				"NAME is not allowed: "+strings.ToValidUTF8(quoted, "\ufffd"))
		}
		if shape.end == "@" {
			messages = append(messages, "open "+path.Join("/home/anna", word)+": no such file or directory")
		}
		for _, message := range messages {
			for _, wrongWord := range []bool{true, !shape.certain} {
				if said := r.redact(message, wrongWord); strings.Contains(said, secret) {
					t.Fatalf("%q is printed as %q", message, said)
				}
			}
		}
	})
}
