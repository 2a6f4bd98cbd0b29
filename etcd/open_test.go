package etcd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// certificate makes one that vouches for itself, for servers and clients on this machine.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"etcd.test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	folder := t.TempDir()
	write := func(name, sort string, bytes []byte) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: sort, Bytes: bytes}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret)
}

// opened takes a lock with an engine of a URL, and answers with what came of it.
func opened(t *testing.T, url string) error {
	t.Helper()
	e, err := etcd.Open(url)
	if err != nil {
		return err
	}
	defer func() { must(t, e.Close()) }()
	r := asked(rand.Text())
	if _, err = e.Take(t.Context(), r); err == nil {
		err = e.Release(t.Context(), driver.Release{Hold: holdOf(r)})
	}
	return err
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	config := quick
	config.Cert, config.Key, config.ClientCA = cert, key, cert
	s := etcdserver.ForTest(t, config)
	plain := etcdserver.ForTest(t, quick)
	good := "etcds://" + s.Addr() + "?ca=" + url.QueryEscape(cert) + "&cert=" + url.QueryEscape(cert) + "&key=" + url.QueryEscape(key)
	must(t, opened(t, good))
	must(t, opened(t, good+"&server_name=etcd.test"))
	for url, says := range map[string]string{
		good + "&server_name=other.test": "certificate is valid for etcd.test",
		"etcds://" + s.Addr():            "check that the URL says etcds://",
		"etcd://" + s.Addr():             "check that the URL says etcds://",
		"etcds://" + plain.Addr():        "check that the URL says etcds://",
	} {
		if err := refusal(t, url, says); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
}

// refusal is opened for a request that nobody answers. It gives it more time for as long as the answer does not say why, as on a busy machine.
func refusal(t *testing.T, address, says string) (err error) {
	mark := "?"
	if strings.Contains(address, mark) {
		mark = "&"
	}
	for limit := 2 * time.Second; limit < time.Minute; limit *= 3 {
		if err = opened(t, address+mark+"timeout="+limit.String()); err == nil || strings.Contains(err.Error(), says) {
			break
		}
	}
	return err
}

// A user needs rights to the keys of the prefix and no others. No error shows a password.
func TestUsers(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	admin := connect(t, clientv3.Config{}, s.Addr())
	for _, user := range []string{"root", "worker", "guest"} {
		_, err := admin.UserAdd(t.Context(), user, "its:pass/word")
		must(t, err)
		_, err = admin.RoleAdd(t.Context(), user)
		must(t, err)
		_, err = admin.UserGrantRole(t.Context(), user, user)
		must(t, err)
	}
	must(t, grant(t, admin, "worker", etcd.DefaultPrefix, clientv3.GetPrefixRangeEnd(etcd.DefaultPrefix), clientv3.PermReadWrite))
	_, err := admin.AuthEnable(t.Context())
	must(t, err)
	const word = "its%3Apass%2Fword"
	const patient = "dial_timeout=1m&timeout=1m"
	must(t, opened(t, "etcd://worker:"+word+"@"+s.Addr()+"?"+patient))
	for url, says := range map[string]string{
		"etcd://guest:" + word + "@" + s.Addr() + "?" + patient:                "give it to a role of the user",
		"etcd://worker:secret%20word@" + s.Addr() + "?" + patient:              "give the right user and password",
		"etcd://worker:" + word + "@" + s.Addr() + "?prefix=other/&" + patient: "give it to a role of the user",
		"etcd://" + s.Addr() + "?" + patient:                                   "give user and password",
	} {
		err := opened(t, url)
		if !driver.IsPermanent(err) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "word@") || strings.Contains(err.Error(), "secret word") {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
}
