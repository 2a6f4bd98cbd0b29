package redis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// openAndTake opens an engine and takes a lock with it. The engine is closed at the end of the test.
func openAndTake(t *testing.T, raw string, getenv func(string) string) error {
	t.Helper()
	separator := "?"
	if strings.Contains(raw, "?") {
		separator = "&"
	}
	// The servers were started for the test.
	e, err := openWith(raw+separator+"guard=off", getenv)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), redisserver.Patience)
	defer cancel()
	_, err = e.Take(ctx, driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Owner: rand.Text(),
		TTL: time.Minute, Tokens: 1, Size: 1, Weight: 1})
	return err
}

func command(t *testing.T, s *redisserver.Server, args ...string) string {
	t.Helper()
	reply, err := s.Command(args...)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(reply)
}

// wantKey fails the test unless the lock is on this server.
func wantKey(t *testing.T, s *redisserver.Server) {
	t.Helper()
	if n := command(t, s, "EXISTS", "lock:a"); n != "1" {
		t.Errorf("the lock is not on %s", s.Addr())
	}
}

func TestOpenReachesOneServer(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "redis socket")
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{fmt.Sprintf("unixsocket %q", socket)}})
	if err := openAndTake(t, "redis://"+s.Addr(), noEnvironment); err != nil {
		t.Fatal(err)
	}
	wantKey(t, s)
	if clients := command(t, s, "CLIENT", "LIST"); !strings.Contains(clients, "name=leasehold ") {
		t.Errorf("no connection has a name: %s", clients)
	}
	path := (&url.URL{Path: socket}).EscapedPath()
	if err := openAndTake(t, "redis+unix://"+path, noEnvironment); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("over the socket: %v, want that it is held", err)
	}
	if err := openAndTake(t, "redis://"+s.Addr()+"/3", noEnvironment); err != nil {
		t.Errorf("in another database: %v", err)
	}
	if err := openAndTake(t, "redis://"+s.Addr()+"?db=3", noEnvironment); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("in the other database again: %v, want that it is held", err)
	}
}

func TestOpenAuthenticates(t *testing.T) {
	t.Parallel()
	const password = "ge@heim/:%?#"
	s := redisserver.ForTest(t, redisserver.Config{Password: password})
	// This user may lock, but not name its connections.
	command(t, s, "ACL", "SETUSER", "anna", "on", ">"+password, "~*", "&*", "+@all", "-client|setname")
	escaped := url.QueryEscape(password)
	for i, c := range []struct {
		user        string
		environment map[string]string
		refused     string
	}{
		{":" + escaped + "@", nil, ""},
		{"anna:" + escaped + "@", nil, ""},
		{"anna@", map[string]string{EnvPassword: password}, ""},
		{"", map[string]string{EnvUser: "anna", EnvPassword: password}, ""},
		{"", map[string]string{EnvPassword: password}, ""},
		{"anna:" + escaped + "@", map[string]string{EnvUser: "berta", EnvPassword: "wrong"}, ""},
		{"", nil, "NOAUTH"},
		{"berta:" + escaped + "@", nil, "WRONGPASS"},
		{"anna:" + escaped + "x@", nil, "WRONGPASS"},
		{"anna@", map[string]string{EnvPassword: "x" + password}, "WRONGPASS"},
	} {
		raw := fmt.Sprintf("redis://%s%s?prefix=case%d:", c.user, s.Addr(), i)
		err := openAndTake(t, raw, func(name string) string { return c.environment[name] })
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", raw, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.refused) || !driver.IsPermanent(err) {
			t.Errorf("%s: %v, want a permanent error with %s", raw, err, c.refused)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "heim") {
			t.Errorf("the error of %s reveals a secret: %s", raw, text)
		}
	}
}

func TestOpenFollowsSentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{Password: "geheim"})
	s := redisserver.SentinelsForTest(t, 1, r)
	command(t, s.All[0], "ACL", "SETUSER", "watch", "on", ">secret", "+@all", "~*", "&*")
	command(t, s.All[0], "ACL", "SETUSER", "default", "off")
	const dead = "127.0.0.1:1"
	raw := "redis+sentinel://:geheim@" + dead + "," + s.All[0].Addr() + "/" + redisserver.MasterName
	if err := openAndTake(t, raw+"?sentinel_user=watch&sentinel_password=secret", noEnvironment); err != nil {
		t.Fatal(err)
	}
	wantKey(t, r.Master)
	environment := map[string]string{EnvSentinelUser: "watch", EnvSentinelPassword: "secret", EnvPassword: "geheim"}
	if err := openAndTake(t, strings.Replace(raw, ":geheim@", "", 1),
		func(name string) string { return environment[name] }); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("with the environment: %v, want that it is held", err)
	}
	for _, wrong := range []string{raw, raw + "?sentinel_password=secre", strings.Replace(raw, "/main", "/other", 1) +
		"?sentinel_user=watch&sentinel_password=secret"} {
		err := openAndTake(t, wrong, noEnvironment)
		if err == nil || errors.Is(err, driver.ErrHeld) {
			t.Errorf("%s: %v", wrong, err)
		}
		if text := fmt.Sprint(err); strings.Contains(text, "geheim") || strings.Contains(text, "secre") {
			t.Errorf("the error of %s reveals a secret: %s", wrong, text)
		}
	}
}

func TestOpenFindsItsWayInAClusterWithTLS(t *testing.T) {
	t.Parallel()
	needed.TLS(t)
	a := newAuthority(t)
	port := freePort(t)
	lines := append(a.server(port), "tls-cluster yes", "cluster-announce-ip 127.0.0.1")
	c := redisserver.ClusterForTest(t, 1, 0, redisserver.Config{Password: "geheim", Lines: lines})
	if err := openAndTake(t, "redis+cluster://:geheim@127.0.0.1:1,"+c.Nodes[0].Addr(), noEnvironment); err != nil {
		t.Fatal(err)
	}
	wantKey(t, c.Nodes[0])
	// To clients with TLS, the cluster names its TLS port.
	err := openAndTake(t, "rediss+cluster://:geheim@127.0.0.1:"+port+a.parameters(), noEnvironment)
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("with TLS: %v, want that it is held", err)
	}
}

func TestOpenChecksCertificates(t *testing.T) {
	t.Parallel()
	needed.TLS(t)
	a, other := newAuthority(t), newAuthority(t)
	port := freePort(t)
	s := redisserver.ForTest(t, redisserver.Config{Password: "geheim", Lines: a.server(port)})
	raw := "rediss://:geheim@127.0.0.1:" + port
	if err := openAndTake(t, raw+a.parameters(), noEnvironment); err != nil {
		t.Fatal(err)
	}
	wantKey(t, s)
	err := openAndTake(t, raw+a.parameters()+"&server_name=redis.test", noEnvironment)
	if !errors.Is(err, driver.ErrHeld) {
		t.Errorf("with the other name of the server: %v, want that it is held", err)
	}
	for raw, why := range map[string]string{
		raw + "?" + a.identity()[1:]:                       "unknown authority", // to the system
		raw + "?ca=" + other.file("ca.pem") + a.identity(): "unknown authority",
		raw + a.parameters() + "&server_name=example.org":  "example.org",
		raw + "?ca=" + a.file("ca.pem"):                    "tls: ", // the server wants a certificate of the client
		"redis://:geheim@127.0.0.1:" + port:                "this server speaks TLS: use rediss://127.0.0.1:" + port,
		"rediss://:geheim@" + s.Addr() + a.parameters():    "does not speak TLS: use redis://" + s.Addr(),
		raw + "?ca=" + a.file("ca.pem") + other.identity(): "tls: ",
	} {
		err := openAndTake(t, raw, noEnvironment)
		if err == nil || errors.Is(err, driver.ErrHeld) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", raw, err, why)
		}
		if strings.Contains(fmt.Sprint(err), "geheim") {
			t.Errorf("the error of %s reveals a secret: %v", raw, err)
		}
	}
}

func TestOpenNeedsItsFiles(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for raw, names := range map[string]string{
		"rediss://h?ca=" + a.file("nosuch.pem"):                                         "nosuch.pem",
		"rediss://h?ca=" + a.file("client.key"):                                         "CERTIFICATE",
		"rediss://h?cert=" + a.file("nosuch.pem") + "&key=" + a.file("client.key"):      "nosuch.pem",
		"rediss://h?cert=" + a.file("client.pem") + "&key=" + a.file("server.key"):      "parameters cert and key",
		"rediss+cluster://anna:geheim@h?ca=" + a.dir:                                    "parameter ca",
		"rediss+sentinel://anna:geheim@h/m?ca=" + a.file("nosuch.pem") + "&prefix=geh:": "nosuch.pem",
	} {
		e, err := Open(raw)
		if err == nil {
			t.Errorf("%s is allowed", raw)
			_ = e.Close()
			continue
		}
		if _, wrong := errors.AsType[*URLError](err); wrong || !strings.Contains(err.Error(), names) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// No answer comes: from a frozen server, or from a listener that accepts no connections.
func TestRequestsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	frozen := redisserver.ForTest(t, redisserver.Config{})
	if err := frozen.Pause(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for _, raw := range []string{
		"redis://" + frozen.Addr(),
		"redis://" + silent.Addr().String(),
		"rediss://" + silent.Addr().String(),
		"redis+sentinel://" + silent.Addr().String() + "/main",
		"rediss+sentinel://" + silent.Addr().String() + "/main",
		"redis+cluster://" + silent.Addr().String(),
		"rediss+cluster://" + silent.Addr().String(),
	} {
		t.Run(strings.ReplaceAll(raw, "/", ""), func(t *testing.T) {
			t.Parallel()
			e, err := Open(raw + "?timeout=1h&dial_timeout=1h")
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err = e.Take(ctx, driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Owner: "x",
				TTL: time.Minute, Tokens: 1, Size: 1, Weight: 1})
			if took := time.Since(began); err == nil || took > 5*time.Second {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

// A Sentinel that hangs is as good as one that is down: the others suffice.
func TestOpenDoesNotWaitForAFrozenSentinel(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 0, redisserver.Config{})
	s := redisserver.SentinelsForTest(t, 2, r)
	if err := s.All[0].Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := openAndTake(t, "redis+sentinel://"+strings.Join(s.Addrs(), ",")+"/"+redisserver.MasterName+
		"?timeout=1h", noEnvironment); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	wantKey(t, r.Master)
}

// Nor does a lock wait for a node of a Cluster that hangs, if the lock is on another node.
func TestOpenDoesNotWaitForAFrozenNode(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: []string{"cluster-require-full-coverage no"}})
	at := redisserver.Slot("lock:a") * len(c.Nodes) / redisserver.Slots
	frozen := c.Nodes[(at+1)%len(c.Nodes)]
	if err := frozen.Pause(); err != nil {
		t.Fatal(err)
	}
	// The client may ask the frozen node more than once, for slots and for commands: each time until its timeout.
	e, err := Open("redis+cluster://" + frozen.Addr() + "," + strings.Join(c.Addrs(), ",") + "?guard=off&timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the request timeout of the library
	defer cancel()
	if _, err := e.Take(ctx, driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Owner: "x", TTL: time.Minute,
		Tokens: 1, Size: 1, Weight: 1}); err != nil {
		t.Fatal(err)
	}
	wantKey(t, c.Nodes[at])
}

func TestRequestsEndWithTheTimeouts(t *testing.T) {
	t.Parallel()
	frozen := redisserver.ForTest(t, redisserver.Config{})
	if err := frozen.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := openAndTake(t, "redis://"+frozen.Addr()+"?timeout=200ms", noEnvironment); err == nil {
		t.Error("a frozen server has granted a lock")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestCloseEndsTheConnections(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, err := Open("redis://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.List(t.Context(), driver.Query{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(redisserver.Patience)
	for strings.Contains(command(t, s, "CLIENT", "LIST"), "name=leasehold ") {
		if time.Now().After(limit) {
			t.Fatal("the server still has connections")
		}
	}
}

// Whatever a server announces, requests fail, and the program lives on. Without the limits it would end here.
func TestServersThatAnnounceTooMuch(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{">2147483647\r\n", "*2147483647\r\n", strings.Repeat("*1\r\n", 1000)} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
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
					for b := make([]byte, 4096); ; {
						if _, err := c.Read(b); err != nil {
							return
						}
						if _, err := c.Write([]byte(reply)); err != nil {
							return
						}
					}
				}()
			}
		}()
		e, err := Open("redis://" + l.Addr().String() + "?timeout=1s")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		if _, err = e.List(t.Context(), driver.Query{}); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%.20q: %v", reply, err)
		}
	}
}

// freePort returns a port on which nobody listens now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// authority signs the certificates of a test, and keeps them in a directory.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	a.issue("server", &x509.Certificate{
		// nodes of a cluster are both
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"redis.test"},
	})
	a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return a
}

// issue writes NAME.pem and NAME.key. The first certificate signs itself.
func (a *authority) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.Subject = pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: cert},
		".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		a.t.Fatal(err)
	}
	return parsed, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// server returns lines of redis.conf for a server that also listens with TLS, and demands certificates of its clients.
func (a *authority) server(port string) []string {
	return []string{"tls-port " + port, "tls-cert-file " + a.file("server.pem"), "tls-key-file " + a.file("server.key"),
		"tls-ca-cert-file " + a.file("ca.pem")}
}

func (a *authority) identity() string {
	return "&cert=" + a.file("client.pem") + "&key=" + a.file("client.key")
}

func (a *authority) parameters() string { return "?ca=" + a.file("ca.pem") + a.identity() }
