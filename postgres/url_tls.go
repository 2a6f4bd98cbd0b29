package postgres

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/internal/exposure"
)

// pgxWords are the values of parameters that pgx would take for something else if they were misspelled. The default of
// sslmode is verify-full, unless all hosts are this machine.
var pgxWords = map[string][]string{
	"sslmode":        {"disable", "require", "verify-ca", "verify-full"},
	"sslsni":         {"0", "1"},
	"sslnegotiation": {"postgres", "direct"},
}

// whyWords says why other values are not allowed.
var whyWords = map[string]string{
	"sslmode": ": with allow and prefer the server could choose to be sent everything in clear",
}

// allowedVerifyCA is what sslmode may be instead of verify-ca without sslrootcert.
const allowedVerifyCA = "verify-full, or verify-ca with sslrootcert=FILE: without an authority of one's own, whoever " +
	"has any public certificate would pass for the server"

// trustsAnyAuthority reports whether there is a path on which the server proves only that some authority of the system
// has certified it, under whatever name.
func trustsAnyAuthority(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(connectionPaths(c), func(path connectionPath) bool {
		t := path.tls
		return t != nil && t.InsecureSkipVerify && t.VerifyPeerCertificate != nil && t.RootCAs == nil
	})
}

// connectionPath is one way in which pgx may connect: a host, with TLS or without.
type connectionPath struct {
	host string
	tls  *tls.Config
}

// connectionPaths are all that pgx may try.
func connectionPaths(c *pgx.ConnConfig) []connectionPath {
	all := []connectionPath{{c.Host, c.TLSConfig}}
	for _, f := range c.Fallbacks {
		all = append(all, connectionPath{f.Host, f.TLSConfig})
	}
	return all
}

func isAllLocal(c *pgx.ConnConfig) bool {
	return !slices.ContainsFunc(connectionPaths(c), func(path connectionPath) bool {
		return !exposure.IsLocal(path.host)
	})
}

// protectPassword keeps the password, and what is as good as the password, from servers that have not proved their
// identity. The password stays secret with scram-sha-256 anyway.
func protectPassword(c *pgx.ConnConfig) {
	open := slices.ContainsFunc(connectionPaths(c), func(path connectionPath) bool {
		return !exposure.IsLocal(path.host) && !exposure.Verifies(path.tls)
	})
	if open && exposesPassword(c.RequireAuth) {
		c.RequireAuth = "!password,!md5"
	}
}

// exposesPassword reports whether a list of methods, as in require_auth, lets the server ask for the password or its
// MD5.
func exposesPassword(methods string) bool {
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

// findWeakness is what is wrong with the worst of the paths, or nil.
func findWeakness(c *pgx.ConnConfig) (worst *exposure.Weakness) {
	for _, path := range connectionPaths(c) {
		weak := exposure.FindWeakness(path.host, path.tls, c.Password != "" && exposesPassword(c.RequireAuth))
		if weak != nil && (worst == nil || path.tls == nil) {
			worst = weak
		}
	}
	return worst
}
