package engineurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS holds the TLS parameters of a URL: PEM files, and the name that the server's certificate must
// have. Missing parameters are empty; Cert and Key are both given, or neither.
type TLS struct{ CA, Cert, Key, ServerName string }

// TLSParameters are the names of these parameters in a URL.
var TLSParameters = []string{"ca", "cert", "key", "server_name"}

// Set sets one of them. If the value is not allowed, it returns what is; otherwise an empty string.
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

// Fault returns what is wrong with the combination, or nil.
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
			return nil, fmt.Errorf(
				"parameter ca: %s has no certificate in it: it must be a PEM file with CERTIFICATE blocks", t.CA)
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
