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

// certificate makes a self-signed certificate for servers and clients on this machine.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"etcd.test"},
		IsCA: true, BasicConstraintsValid: true,
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

// takeOnce opens an engine, takes a lock with it, and returns the error.
func takeOnce(t *testing.T, url string) error {
	t.Helper()
	e, err := etcd.Open(url)
	if err != nil {
		return err
	}
	defer func() { must(t, e.Close()) }()
	r := newRequest(rand.Text())
	if _, err = e.Take(t.Context(), r); err == nil {
		err = e.Release(t.Context(), driver.Release{Hold: holdOf(r)})
	}
	return err
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	config := fastConfig
	config.Cert, config.Key, config.ClientCA = cert, key, cert
	s := etcdserver.ForTest(t, config)
	plain := etcdserver.ForTest(t, fastConfig)
	certQuery := url.QueryEscape(cert)
	good := "etcds://" + s.Addr() + "?ca=" + certQuery + "&cert=" + certQuery + "&key=" + url.QueryEscape(key)
	must(t, takeOnce(t, good))
	must(t, takeOnce(t, good+"&server_name=etcd.test"))
	for url, says := range map[string]string{
		good + "&server_name=other.test": "certificate is valid for etcd.test",
		"etcds://" + s.Addr():            "check that the URL says etcds://",
		"etcd://" + s.Addr():             "etcd: this server speaks TLS: use etcds://" + s.Addr(),
		"etcds://" + plain.Addr():        "etcd: this server does not speak TLS: use etcd://" + plain.Addr(),
	} {
		if err := refusedTake(t, url, says); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
}

// refusedTake is takeOnce for a request that nobody answers. It allows more time until the error is the expected one,
// since the machine may be busy.
func refusedTake(t *testing.T, address, says string) (err error) {
	mark := "?"
	if strings.Contains(address, mark) {
		mark = "&"
	}
	for limit := 2 * time.Second; limit < time.Minute; limit *= 3 {
		err = takeOnce(t, address+mark+"timeout="+limit.String())
		if err == nil || strings.Contains(err.Error(), says) {
			break
		}
	}
	return err
}

// passwordsUnused are the findings of an engine about a password that nobody checks.
func passwordsUnused(t *testing.T, url string) (found []driver.Finding) {
	t.Helper()
	e, err := etcd.Open(url)
	must(t, err)
	defer func() { must(t, e.Close()) }()
	x, err := e.Examine(t.Context())
	must(t, err)
	for _, f := range x.Findings {
		if f.Code == "password-unused" {
			found = append(found, f)
		}
	}
	return found
}

// A user needs rights to the keys of the prefix and to no others. No error shows a password.
func TestUsers(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	admin := connect(t, clientv3.Config{}, s.Addr())
	for _, user := range []string{"root", "worker", "guest"} {
		_, err := admin.UserAdd(t.Context(), user, "its:pass/word")
		must(t, err)
		_, err = admin.RoleAdd(t.Context(), user)
		must(t, err)
		_, err = admin.UserGrantRole(t.Context(), user, user)
		must(t, err)
	}
	end := clientv3.GetPrefixRangeEnd(etcd.DefaultPrefix)
	must(t, grantPermission(t, admin, "worker", etcd.DefaultPrefix, end, clientv3.PermReadWrite))
	// Until authentication is on, any user and password will do, and an examination says so.
	if f := passwordsUnused(t, "etcd://nobody:any@"+s.Addr()); len(f) != 1 || f[0].Severity != driver.Warning {
		t.Errorf("without authentication an examination finds %+v", f)
	}
	if f := passwordsUnused(t, "etcd://"+s.Addr()); len(f) > 0 {
		t.Errorf("without a password an examination finds %+v", f)
	}
	_, err := admin.AuthEnable(t.Context())
	must(t, err)
	const word = "its%3Apass%2Fword"
	const longTimeouts = "dial_timeout=1m&timeout=1m"
	must(t, takeOnce(t, "etcd://worker:"+word+"@"+s.Addr()+"?"+longTimeouts))
	if f := passwordsUnused(t, "etcd://worker:"+word+"@"+s.Addr()+"?"+longTimeouts); len(f) > 0 {
		t.Errorf("with authentication an examination finds %+v", f)
	}
	for url, says := range map[string]string{
		"etcd://guest:" + word + "@" + s.Addr() + "?" + longTimeouts:                "give it to a role of the user",
		"etcd://worker:secret%20word@" + s.Addr() + "?" + longTimeouts:              "give the right user and password",
		"etcd://worker:" + word + "@" + s.Addr() + "?prefix=other/&" + longTimeouts: "give it to a role of the user",
		"etcd://" + s.Addr() + "?" + longTimeouts:                                   "give user and password",
	} {
		err := takeOnce(t, url)
		if !driver.IsPermanent(err) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "word@") ||
			strings.Contains(err.Error(), "secret word") {
			t.Errorf("%s: %v, which does not say %q", url, err, says)
		}
	}
}
