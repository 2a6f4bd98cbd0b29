// Package exposure tells how safe a connection to a server is: whether it leaves this machine, whether it is encrypted,
// and whether the server is authenticated. It also tells which files with secrets others can read.
package exposure

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
)

// IsLocal reports whether an address leads to this machine and nowhere else: HOST, HOST:PORT or the path of a socket. A
// name other than localhost counts as another machine, whatever it resolves to.
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

// Verifies reports whether a configuration checks the certificate of the server. Nil stands for no TLS.
func Verifies(c *tls.Config) bool {
	switch {
	case c == nil:
		return false
	case !c.InsecureSkipVerify:
		return true
	}
	// A callback checks it instead. One that sees only the chain must not rely on the authorities of the system: with
	// them, a valid certificate for any name would pass.
	return c.VerifyConnection != nil || c.VerifyPeerCertificate != nil && c.RootCAs != nil
}

// Weakness is what is wrong with a connection that leaves this machine.
type Weakness struct {
	// Code and Text are for a finding.
	Code, Text string
	// Exposed is set if anybody on the path can learn the password.
	Exposed bool
}

// FindWeakness returns what is wrong with connections to an address, or nil. config is nil without TLS; exposed says
// whether a password is sent over the connection.
func FindWeakness(address string, config *tls.Config, exposed bool) *Weakness {
	switch {
	case IsLocal(address), Verifies(config):
		return nil
	case config != nil:
		w := &Weakness{Code: "tls-unverified", Exposed: exposed, Text: "the certificate of the server is not " +
			"checked: anybody on the network path can pose as the server, and grant one lock to two holders"}
		if exposed {
			w.Text += ". They can also read the password"
		}
		return w
	}
	w := &Weakness{Code: "tls-off", Exposed: exposed, Text: "the connection leaves this machine without TLS: " +
		"anybody on the network path can read what is locked, and grant one lock to two holders"}
	if exposed {
		w.Text += ". The password is sent in clear text"
	}
	return w
}
