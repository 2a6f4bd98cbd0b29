//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// tlsServer is a server that listens with TLS and demands a certificate.
type tlsServer struct {
	*redisserver.Server
	addr string
	url  string // with parameters
	dir  string // of the certificates
}

func startWithTLS(t *testing.T) tlsServer {
	t.Helper()
	needed.TLS(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	ca := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	signer := issue(t, file("ca"), ca, ca, nil)
	issue(t, file("server"), &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca, signer)
	issue(t, file("client"), &x509.Certificate{}, ca, signer)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close() // so that the server can use it
	_, port, _ := net.SplitHostPort(addr)
	s := redisserver.ForTest(t, redisserver.Config{Password: geheim, Lines: []string{
		"tls-port " + port, "tls-cert-file " + file("server.pem"), "tls-key-file " + file("server.key"),
		"tls-ca-cert-file " + file("ca.pem"),
	}})
	return tlsServer{s, addr,
		"rediss://" + withPassword("") + addr + "?ca=" + file("ca.pem") + "&cert=" + file("client.pem") + "&key=" +
			file("client.key"), dir}
}

// issue writes a certificate to NAME.pem and its key to NAME.key, and returns the key. Without a signer, it is
// self-signed.
func issue(t *testing.T, name string, c, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: filepath.Base(name)}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	cert, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for end, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: cert},
		".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name+end, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

func TestNobodyIsTrustedWithoutACertificate(t *testing.T) {
	t.Parallel()
	s := startWithTLS(t)
	m := newMachine(t)
	for name, c := range map[string]struct{ url, says string }{
		"the system does not know the server's": {"rediss://" + withPassword("") + s.addr, "unknown authority"},
		"the server has another name":           {s.url + "&server_name=example.org", "example.org"},
		"the client has none": {"rediss://" + withPassword("") + s.addr + "?ca=" +
			filepath.Join(s.dir, "ca.pem"), "certificate required"},
		"the file is missing": {"rediss://" + withPassword("") + s.addr + "?ca=" +
			filepath.Join(s.dir, "nosuch.pem"), "nosuch.pem"},
		"without TLS": {"redis://" + withPassword("") + s.addr, ""},
	} {
		m.use(c.url)
		r := m.do("run", "a", "--", "echo", "must not run").want(t, 69).wantNoSecret(t)
		if r.out != "" || !strings.Contains(r.err, c.says) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: stdout %q, stderr %q", name, r.out, r.err)
		}
	}
	m.use(s.url+"&guard=off").do("run", "a", "--", "true").want(t, 0)
}
