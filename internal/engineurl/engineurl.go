// Package engineurl reads what the URLs of engines have in common: user and password, the addresses of servers, parameters, and files of certificates.
//
// Nothing of what was given is ever part of a [Fault], but for names of parameters that cannot be anything else: if an @ is missing, a password may stand
// where another thing belongs.
package engineurl

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Fault says what of a URL is not allowed.
type Fault struct {
	// Part is what is wrong, as in "host" or "parameter".
	Part string
	// Value is the name of the parameter, if Part is one and the name may be shown.
	Value string
	// Allowed says what may be given.
	Allowed string
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// IsHost reports whether a text may be the name of a host.
func IsHost(text string) bool { return hostName.MatchString(text) }

// Address reads HOST[:PORT] and returns it with the port, which is the one given if the text has none; usual is the port that messages show.
func Address(text, port, usual string) (string, *Fault) {
	host := text
	// The colons of an IPv6 address stand in brackets.
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &Fault{Part: "port", Allowed: "a number from 1 to 65535, as in localhost:" + usual + " (and / ? # in a password must be written as %2F %3F %23)"}
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
		return "", &Fault{Part: "host", Allowed: "a name or an address, as in localhost, 10.0.0.1:" + usual + " or [::1]:" + usual}
	}
	return net.JoinHostPort(host, port), nil
}
