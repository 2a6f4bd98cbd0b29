// Package engineurl reads what the URLs of all engines share: user and password, the addresses of
// servers, parameters, and certificate files.
//
// A [Fault] never contains any part of the input, except names of parameters that cannot be
// anything else: if an @ is missing, a password may appear in another position.
package engineurl

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Fault says which part of a URL is not allowed.
type Fault struct {
	// Part names the part, as in "host" or "parameter".
	Part string
	// Value is the name of the parameter, if Part is one and the name may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// IsHost reports whether text may be a host name.
func IsHost(text string) bool { return hostName.MatchString(text) }

// Address reads HOST[:PORT] and returns it with a port, which is the given one if the text has
// none; usual is the port that error messages show.
func Address(text, port, usual string) (string, *Fault) {
	host := text
	// The colons of an IPv6 address are inside brackets.
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &Fault{Part: "port", Allowed: "a number from 1 to 65535, as in localhost:" + usual +
			" (and / ? # in a password must be written as %2F %3F %23)"}
	}
	if inner, bracket := strings.CutPrefix(host, "["); bracket {
		host = strings.TrimSuffix(inner, "]")
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() || host == inner {
			host = ""
		}
	} else if !IsHost(host) {
		host = ""
	}
	if host == "" {
		return "", &Fault{Part: "host",
			Allowed: "a name or an address, as in localhost, 10.0.0.1:" + usual + " or [::1]:" + usual}
	}
	return net.JoinHostPort(host, port), nil
}
