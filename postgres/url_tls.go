package postgres

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/internal/exposure"
)

// sslModes are what a URL may say of TLS. Without a word it is verify-full, unless all hosts are this machine.
var sslModes = []string{"disable", "require", "verify-ca", "verify-full"}

// way is one that connections may go: to a host, with TLS or without.
type way struct {
	host string
	tls  *tls.Config
}

// ways are all those that pgx may try.
func ways(c *pgx.ConnConfig) []way {
	all := []way{{c.Host, c.TLSConfig}}
	for _, f := range c.Fallbacks {
		all = append(all, way{f.Host, f.TLSConfig})
	}
	return all
}

func allLocal(c *pgx.ConnConfig) bool {
	return !slices.ContainsFunc(ways(c), func(w way) bool { return !exposure.IsLocal(w.host) })
}

// keepPassword has the password, and what is as good as it, sent to nobody who has not proved who it is. That of scram-sha-256 stays secret by itself.
func keepPassword(c *pgx.ConnConfig) {
	open := slices.ContainsFunc(ways(c), func(w way) bool { return !exposure.IsLocal(w.host) && !exposure.Verifies(w.tls) })
	if open && exposes(c.RequireAuth) {
		c.RequireAuth = "!password,!md5"
	}
}

// exposes reports whether a list of methods, as require_auth has them, lets the server ask for the password, or for its MD5.
func exposes(methods string) bool {
	var listed []string
	refused := strings.HasPrefix(strings.TrimSpace(methods), "!")
	for m := range strings.SplitSeq(methods, ",") {
		listed = append(listed, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(m), "!")))
	}
	if refused {
		return !slices.Contains(listed, "password") || !slices.Contains(listed, "md5")
	}
	return methods == "" || slices.Contains(listed, "password") || slices.Contains(listed, "md5")
}

// weakness is what is wrong with the worst of the ways, or nil.
func weakness(c *pgx.ConnConfig) (worst *exposure.Weakness) {
	for _, w := range ways(c) {
		if weak := exposure.Weak(w.host, w.tls, c.Password != "" && exposes(c.RequireAuth)); weak != nil && (worst == nil || w.tls == nil) {
			worst = weak
		}
	}
	return worst
}
