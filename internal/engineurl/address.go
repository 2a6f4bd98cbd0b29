package engineurl

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// Address reads HOST[:PORT] and returns it with a port, which is the given one if the text has
// none; usual is the port that error messages show. Any error is an [*Error].
func Address(text, port, usual string) (string, error) {
	host := text
	// The colons of an IPv6 address are inside brackets.
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &Error{Part: "port", Allowed: "a number from 1 to 65535, as in localhost:" + usual +
			" (and / ? # in a password must be written as %2F %3F %23)"}
	}
	if inner, bracket := strings.CutPrefix(host, "["); bracket {
		host = strings.TrimSuffix(inner, "]")
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() || host == inner {
			host = ""
		}
	} else if !hostName.MatchString(host) {
		host = ""
	}
	if host == "" {
		return "", &Error{Part: "host",
			Allowed: "a name or an address, as in localhost, 10.0.0.1:" + usual + " or [::1]:" + usual}
	}
	return net.JoinHostPort(host, port), nil
}
