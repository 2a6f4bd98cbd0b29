package etcdserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a key, and get reads it from the server's own data.
func put(t *testing.T, s *Server, value string) {
	t.Helper()
	callAgain(t, s, "/v3/kv/put", map[string]any{"key": []byte("key"), "value": []byte(value)}, &struct{}{})
}

// callAgain repeats a call while the cluster elects another leader, as it may do at any time on a busy machine.
func callAgain(t *testing.T, s *Server, path string, request, reply any) {
	t.Helper()
	noErr(t, await("the leader stays", func() error { return s.Call(path, request, reply) }))
}

func get(t *testing.T, s *Server) string {
	t.Helper()
	var reply struct {
		Kvs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	callAgain(t, s, "/v3/kv/range", map[string]any{"key": []byte("key")}, &reply)
	if len(reply.Kvs) == 0 {
		return ""
	}
	return string(reply.Kvs[0].Value)
}

// What was confirmed survives a crash, at the same address, unless it is wiped.
func TestKillRestartAndWipe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{"on the disk": {}, "volatile": {Volatile: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ForTest(t, c)
			pid, addr := s.PID(), s.Addr()
			if pid == 0 || !s.Up() || strings.HasPrefix(s.Dir(), memoryFolder) != c.Volatile {
				t.Errorf("process %d, up: %v, in %s", pid, s.Up(), s.Dir())
			}
			put(t, s, "value")
			if s.Restart() == nil || s.Wipe() == nil {
				t.Error("Restart or Wipe of a server that runs has done something")
			}
			s.Kill()
			s.Kill()
			if _, err := s.Status(); err == nil || s.PID() != 0 || s.Up() || s.Pause() == nil || s.Resume() == nil {
				t.Errorf("it is there after Kill: %v", err)
			}
			noErr(t, s.Restart())
			if got := get(t, s); got != "value" || s.PID() == pid || s.Addr() != addr {
				t.Errorf("%q, process %d at %s", got, s.PID(), s.Addr())
			}
			s.Kill()
			noErr(t, s.Wipe())
			noErr(t, s.Restart())
			if got := get(t, s); got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

// A start that has failed because the server was killed leaves the next run alone.
func TestAStartThatFailsEndsItsOwnRun(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Volatile: true})
	s.Kill()
	first, err := s.launch()
	noErr(t, err)
	s.Kill()
	second, err := s.launch()
	noErr(t, err)
	if err := s.awaitLeader(first); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("%v, want that it has ended", err)
	}
	if s.PID() != second.Pid {
		t.Errorf("process %d runs, want %d", s.PID(), second.Pid)
	}
	noErr(t, s.awaitLeader(second))
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{Volatile: true})
	noErr(t, s.Pause())
	if _, err := s.status(100 * time.Millisecond); err == nil || s.Up() {
		t.Errorf("it answers while it is paused: %v", err)
	}
	noErr(t, s.Resume())
	status, err := s.Status()
	if err != nil || status.ID == 0 || status.ID != status.Leader || status.Version == "" || !s.Up() {
		t.Errorf("%+v, %v", status, err)
	}
	if page, err := s.Get("/version"); err != nil || !strings.Contains(string(page), "etcdserver") {
		t.Errorf("%s, %v", page, err)
	}
	if _, err := s.Get("/nothing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v, want 404", err)
	}
}

func TestClusterElectsAnotherLeader(t *testing.T) {
	t.Parallel()
	c := ClusterForTest(t, 3, Config{Volatile: true, Election: 500 * time.Millisecond})
	for i, end := range []func(*Server) (undo func() error){
		func(s *Server) func() error { s.Kill(); return s.Restart },
		func(s *Server) func() error { noErr(t, s.Pause()); return s.Resume },
	} {
		first, err := c.Leader()
		noErr(t, err)
		undo := end(first)
		next, err := c.Leader()
		noErr(t, err)
		if next == first {
			t.Errorf("%d: it still leads", i)
		}
		noErr(t, undo())
		others := c.Others(first)
		if len(others) != 2 || len(c.Addrs()) != 3 || len(c.Members) != 3 {
			t.Errorf("%v, %v", others, c.Addrs())
		}
		put(t, others[0], "value")
		for _, s := range c.Members {
			if got := get(t, s); got != "value" {
				t.Errorf("%d: %s has %q", i, s.Name(), got)
			}
		}
	}
	c.Kill()
	noErr(t, c.Restart())
	if got := get(t, c.Members[2]); got != "value" {
		t.Errorf("after a restart of all it has %q", got)
	}
	noErr(t, c.Restart()) // all run
}

// Without a majority, nobody knows a leader.
func TestServerWithoutAMajority(t *testing.T) {
	t.Parallel()
	c := ClusterForTest(t, 2, Config{Volatile: true, Election: 500 * time.Millisecond})
	leader, err := c.Leader()
	noErr(t, err)
	other := c.Others(leader)[0]
	leader.Kill()
	noErr(t, await("there is no leader", func() error {
		if status, err := other.Status(); err != nil || status.Leader != 0 {
			return errors.Join(err, errors.New("there is"))
		}
		return nil
	}))
	if s, err := c.agreedLeader(); err == nil {
		t.Errorf("%s leads", s.Name())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	s := ForTest(t, Config{Volatile: true, Cert: cert, Key: key, ClientCA: cert})
	put(t, s, "value")
	pair, err := tls.LoadX509KeyPair(cert, key)
	noErr(t, err)
	roots := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	noErr(t, err)
	roots.AppendCertsFromPEM(text)
	for name, c := range map[string]struct {
		own  []tls.Certificate
		good bool
	}{"with a certificate": {[]tls.Certificate{pair}, true}, "without": {nil, false}} {
		config := &tls.Config{RootCAs: roots, Certificates: c.own}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL(), "https://"), config)
		if err == nil { // the server checks the certificate after the client's handshake is complete
			_, err = conn.Write([]byte("GET /health HTTP/1.0\r\n\r\n"))
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			_ = conn.Close() // it was answered, or not
		}
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// certificate makes a self-signed certificate for servers and clients on this machine.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noErr(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	noErr(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	noErr(t, err)
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		noErr(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return path
	}
	return write("cert", "CERTIFICATE", cert), write("key", "EC PRIVATE KEY", secret)
}

func TestProgramThatCannotStart(t *testing.T) {
	t.Parallel()
	ForTest(t, Config{Volatile: true}).Kill() // skips the test if there is no etcd
	if _, err := Start(Config{Program: "no-such-program"}); !errors.Is(err, ErrMissing) {
		t.Errorf("%v, want ErrMissing", err)
	}
	for _, args := range [][]string{{"--no-such-argument"}, {"--listen-peer-urls", "nonsense"}} {
		s, err := Start(Config{Args: args})
		if err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "its log ends with") {
			t.Errorf("%v: %v, %v; want what the log says", args, s, err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s := ForTest(t, Config{})
	pid := s.PID()
	noErr(t, s.Pause())
	noErr(t, s.Close())
	noErr(t, s.Close())
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) || s.PID() != 0 {
		t.Errorf("the folder: %v; process %d", err, pid)
	}
}
