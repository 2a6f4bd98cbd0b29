package exposure_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/exposure"
)

func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"localhost": true, "LocalHost.:1": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:80": true,
		"::1": true, "::ffff:127.0.0.1": true,
		"/run/postgresql": true, "@abstract": true,
		"": false, "db": false, "localhost.example.org": false, "10.0.0.1": false, "10.0.0.1:127": false,
		"[fe80::1]:80": false, "0.0.0.0": false,
	} {
		if got := exposure.IsLocal(address); got != want {
			t.Errorf("%q is local: %v", address, got)
		}
	}
}

func TestWeakConnections(t *testing.T) {
	t.Parallel()
	byItself := func([][]byte, [][]*x509.Certificate) error { return nil }
	for name, c := range map[string]struct {
		address string
		config  *tls.Config
		want    string
	}{
		"here":         {"127.0.0.1:1", nil, ""},
		"in clear":     {"10.0.0.1:1", nil, "tls-off"},
		"verified":     {"10.0.0.1:1", &tls.Config{}, ""},
		"not verified": {"10.0.0.1:1", &tls.Config{InsecureSkipVerify: true}, "tls-unverified"},
		"an authority of one's own": {"10.0.0.1:1",
			&tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: byItself, RootCAs: x509.NewCertPool()}, ""},
		"any authority, any name": {"10.0.0.1:1",
			&tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: byItself}, "tls-unverified"},
		"verified by the caller": {"10.0.0.1:1",
			&tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error { return nil }},
			""},
	} {
		for _, exposed := range []bool{false, true} {
			w := exposure.FindWeakness(c.address, c.config, exposed)
			if (w == nil) != (c.want == "") || w != nil &&
				(w.Code != c.want || w.Exposed != exposed || strings.Contains(w.Text, "password") != exposed) {
				t.Errorf("%s: %+v, want %s", name, w, c.want)
			}
		}
	}
}
