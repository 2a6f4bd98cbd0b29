package engineurl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a":              "a:7",
		"a:9":            "a:9",
		"db_1.example.":  "db_1.example.:7",
		"10.0.0.1:65535": "10.0.0.1:65535",
		"[::1]":          "[::1]:7",
		"[fe80::1]:80":   "[fe80::1]:80",
	} {
		if got, err := engineurl.Address(text, "7", "1"); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %s", text, got, err, want)
		}
	}
	for text, part := range map[string]string{
		"": "host", ":9": "host", "-a": "host", "a-": "host", "a b": "host", "[::1": "host", "[10.0.0.1]": "host",
		"[]": "host", "a@b": "host", "é": "host",
		"a:": "port", "a:0": "port", "a:65536": "port", "a:geheim": "port", "::1": "host", "a:+1": "port",
	} {
		got, err := engineurl.Address(text, "7", "1234")
		fault, is := errors.AsType[*engineurl.Error](err)
		if got != "" || !is || fault.Part != part || !strings.Contains(fault.Allowed, ":1234") ||
			strings.Contains(fault.Allowed, "geheim") {
			t.Errorf("%q is %q, %v, want what is wrong with the %s", text, got, err, part)
		}
	}
}
