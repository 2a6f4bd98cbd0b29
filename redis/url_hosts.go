package redis

import (
	"net/url"
	"strings"

	"github.com/leasehold-go/leasehold/internal/engineurl"
)

// setHosts reads HOST[:PORT] or a list of them. It never shows a value: if the @ is missing, a password may be here.
func (t *target) setHosts(p *engineurl.Parts) error {
	port := "6379"
	switch t.shape {
	case unixSocket:
		if p.Hosts != "" {
			return &URLError{Part: "host", Allowed: "left out, as in redis+unix:///run/redis.sock"}
		}
		return nil
	case behindSentinels:
		port = "26379"
	case oneServer:
		if strings.Contains(p.Hosts, ",") {
			return &URLError{Part: "list of hosts", Allowed: "one host, as in redis://localhost:6379; " +
				"several servers are named by redis+sentinel:// or redis+cluster://"}
		}
	}
	addresses, fault := p.Addresses(port, "6379")
	if fault != nil {
		return (*URLError)(fault)
	}
	t.addresses = addresses
	return nil
}

// setPath reads what follows the hosts: the database, the name of the master, or the path of the socket.
func (t *target) setPath(path string) error {
	path = strings.TrimPrefix(path, "/")
	text, err := url.PathUnescape(path)
	switch t.shape {
	case oneServer:
		if path != "" && (err != nil || t.setDB(text) != "") {
			return &URLError{
				Part:    "path",
				Allowed: "left out, or the number of the database, as in redis://localhost:6379/0",
			}
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
