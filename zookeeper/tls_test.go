package zookeeper_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// behindTLS returns the address of a TLS proxy in front of a server, and the file of its self-signed certificate.
func behindTLS(t *testing.T, server string) (address, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	certificates := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				to, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer to.Close()
				go func() { _, _ = io.Copy(to, c); to.Close() }() // the end of one side ends the other
				_, _ = io.Copy(c, to)
			}()
		}
	}()
	return l.Addr().String(), ca
}

// With zookeepers:// all connections use TLS, examinations too, and the server's certificate is checked.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, zookeeperserver.Config{})
	address, ca := behindTLS(t, s.Addr())
	e, err := zookeeper.Open(t.Context(), "zookeepers://anna:geheim@"+address+"?ca="+ca)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x, err := e.Examine(t.Context())
	for tries := 1; err != nil && tries < 10; tries++ { // a busy machine takes longer than an examination waits
		x, err = e.Examine(t.Context())
	}
	if err != nil || len(x.Servers) != 1 || x.Servers[0].Err != nil || x.Servers[0].Role != "standalone" {
		t.Errorf("it found %+v, %v", x, err)
	}
	for parameters, says := range map[string]string{
		"?ca=" + ca + "&server_name=example.org": "example.org",
		"?ca=" + ca + "x":                        "ca.pemx",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it fails as soon as the server has been tried
		e, err := zookeeper.Open(ctx, "zookeepers://anna:geheim@"+address+parameters)
		cancel()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("with %q it opened %v, %v, want what is wrong with %s", parameters, e != nil, err, says)
		}
	}
}
