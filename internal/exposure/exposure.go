// Package exposure says how safe a connection to a server is: whether it leaves this machine, whether it is encrypted, and whether the server has proved who it
// is.
package exposure

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
)

// IsLocal reports whether an address leads to this machine and nowhere else: HOST, HOST:PORT or the path of a socket. A name other than localhost is taken
// for one of another machine, wherever it leads today.
func IsLocal(address string) bool {
	if strings.HasPrefix(address, "/") || strings.HasPrefix(address, "@") {
		return true
	}
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// Verifies reports whether a configuration has the certificate of the server checked. Nil stands for no TLS.
func Verifies(c *tls.Config) bool {
	switch {
	case c == nil:
		return false
	case !c.InsecureSkipVerify:
		return true
	}
	// One that checks by itself, and not against all authorities of the world without looking at the name.
	return c.VerifyConnection != nil || c.VerifyPeerCertificate != nil && c.RootCAs != nil
}

// Weakness is what is wrong with a connection that leaves this machine.
type Weakness struct {
	// Code and Text are for a finding.
	Code, Text string
	// Exposed is set if a password is sent, or as good as sent, to whoever is on the way.
	Exposed bool
}

// Weak returns what is wrong with connections to an address, or nil. config is nil without TLS; exposed says whether a password is sent over it.
func Weak(address string, config *tls.Config, exposed bool) *Weakness {
	switch {
	case IsLocal(address), Verifies(config):
		return nil
	case config != nil:
		w := &Weakness{Code: "tls-unverified", Exposed: exposed, Text: "the certificate of the server is not checked: whoever is on the way can pass for the server, and grant to two what one holds"}
		if exposed {
			w.Text += ". The password is shown to it"
		}
		return w
	}
	w := &Weakness{Code: "tls-off", Exposed: exposed, Text: "the connection leaves this machine without TLS: whoever is on the way can read what is locked, and grant to two what one holds"}
	if exposed {
		w.Text += ". The password goes in clear"
	}
	return w
}
