package engineurl

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
)

// TLS is what a URL says about TLS: whether its scheme asks for it, PEM files, and the name that the
// server's certificate must have. Missing parameters are empty; Cert and Key are both given, or
// neither.
type TLS struct {
	On                        bool
	CA, Cert, Key, ServerName string
}

// tlsParameters are the names of these parameters in a URL.
var tlsParameters = []string{"ca", "cert", "key", "server_name"}

// set sets one of them. If the value is not allowed, it returns what is; otherwise an empty string.
func (t *TLS) set(name, value string) (allowed string) {
	switch {
	case name == "server_name" && !hostName.MatchString(value):
		return "the name that stands in the server's certificate"
	case value == "":
		return "the path of a PEM file"
	}
	*map[string]*string{"ca": &t.CA, "cert": &t.Cert, "key": &t.Key, "server_name": &t.ServerName}[name] = value
	return ""
}

// isComplete reports whether Cert and Key are both given, or neither.
func (t *TLS) isComplete() bool { return (t.Cert == "") == (t.Key == "") }

// SecretFiles returns the file with the client's own key, if there is one.
func (t TLS) SecretFiles() []string {
	if !t.On || t.Key == "" {
		return nil
	}
	return []string{t.Key}
}

// Config reads the files. It returns nil without TLS. It rejects files that others could write or
// replace: they could pass for the server. The errors name the engine and the parameters ca, cert
// and key.
func (t TLS) Config(engine string) (*tls.Config, error) {
	if !t.On {
		return nil, nil
	}
	for _, file := range [][2]string{{"ca", t.CA}, {"cert", t.Cert}, {"key", t.Key}} {
		if file[1] == "" {
			continue
		}
		if err := CheckFile(file[1]); err != nil {
			return nil, fmt.Errorf("%s engine: URL: parameter %s: %w", engine, file[0], err)
		}
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := readPEM(t.CA)
		if err != nil {
			return nil, fmt.Errorf("%s engine: URL: parameter ca: %w", engine, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s engine: URL: parameter ca: %s has no certificate in it: "+
				"it must be a PEM file with CERTIFICATE blocks", engine, t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := readPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("%s engine: URL: parameters cert and key: %w", engine, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// longestPEM is the size of the largest file of certificates or keys that is read, in bytes. It keeps a path such as
// /dev/zero from filling the memory.
const longestPEM = 4 << 20

// readPEM reads a file of certificates or keys.
func readPEM(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestPEM+1))
	if err != nil {
		return nil, err
	}
	if len(text) > longestPEM {
		return nil, fmt.Errorf("%s has more than %d MiB: give a file of PEM blocks", path, longestPEM>>20)
	}
	return text, nil
}

// readPair reads a certificate and its key.
func readPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readPEM(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}
