package redis

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// setHosts reads HOST[:PORT] or a list of them. No value is ever shown: if the @ is missing, a
// password may stand here.
func (t *target) setHosts(list string) error {
	port := "6379"
	switch t.shape {
	case unixSocket:
		if list != "" {
			return &URLError{Part: "host", Allowed: "left out, as in redis+unix:///run/redis.sock"}
		}
		return nil
	case behindSentinels:
		port = "26379"
	case oneServer:
		if strings.Contains(list, ",") {
			return &URLError{Part: "list of hosts", Allowed: "one host, as in redis://localhost:6379; several servers are named by redis+sentinel:// or redis+cluster://"}
		}
	}
	for one := range strings.SplitSeq(list, ",") {
		address, err := hostPort(one, port)
		if err != nil {
			return err
		}
		if !slices.Contains(t.addresses, address) { // the time to try one that hangs is well spent once
			t.addresses = append(t.addresses, address)
		}
	}
	return nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

func hostPort(text, port string) (string, error) {
	host := text
	// The colons of an IPv6 address stand in brackets.
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &URLError{Part: "port", Allowed: "a number from 1 to 65535, as in localhost:6379 (and / ? # in a password must be written as %2F %3F %23)"}
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
		return "", &URLError{Part: "host", Allowed: "a name or an address, as in localhost, 10.0.0.1:6379 or [::1]:6379"}
	}
	return net.JoinHostPort(host, port), nil
}

// setPath reads what follows the hosts: the database, the name of the master, or the path of the socket.
func (t *target) setPath(path string) error {
	path = strings.TrimPrefix(path, "/")
	text, err := url.PathUnescape(path)
	switch t.shape {
	case oneServer:
		if path != "" && (err != nil || t.setDB(text) != "") {
			return &URLError{Part: "path", Allowed: "left out, or the number of the database, as in redis://localhost:6379/0"}
		}
	case unixSocket:
		if text == "" || err != nil {
			return &URLError{Part: "path", Allowed: "that of the socket, as in redis+unix:///run/redis.sock"}
		}
		t.addresses = []string{"/" + text}
	case behindSentinels:
		if text == "" || err != nil || strings.Contains(path, "/") {
			return &URLError{Part: "path", Allowed: "the name of the master, as in redis+sentinel://h1,h2,h3/mymaster"}
		}
		t.master = text
	case clustered:
		if path != "" {
			return &URLError{Part: "path", Allowed: "left out: a cluster has one database only"}
		}
	}
	return nil
}
