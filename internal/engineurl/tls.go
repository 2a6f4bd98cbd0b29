package engineurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS is what a URL says of TLS: PEM files, and the name that the server's certificate must have. What is empty was left out; Cert and Key are both given, or none.
type TLS struct{ CA, Cert, Key, ServerName string }

// TLSParameters are the names under which a URL has them.
var TLSParameters = []string{"ca", "cert", "key", "server_name"}

// Set takes in one of them. It returns what is allowed if the value is not, and else nothing.
func (t *TLS) Set(name, value string) (allowed string) {
	switch {
	case name == "server_name" && !IsHost(value):
		return "the name that stands in the server's certificate"
	case value == "":
		return "the path of a PEM file"
	}
	*map[string]*string{"ca": &t.CA, "cert": &t.Cert, "key": &t.Key, "server_name": &t.ServerName}[name] = value
	return ""
}

// Fault is what is wrong with all of them together, or nil.
func (t *TLS) Fault() *Fault {
	if (t.Cert == "") == (t.Key == "") {
		return nil
	}
	return &Fault{Part: "only one of the parameters cert and key", Allowed: "both, or none"}
}

// Config reads the files. The errors name the parameters ca, cert and key.
func (t TLS) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("parameter ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("parameter ca: %s has no certificate in it: it must be a PEM file with CERTIFICATE blocks", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("parameters cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
