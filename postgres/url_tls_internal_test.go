package postgres

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// stranger is a server that asks everybody for the password, in one of several ways, and keeps what it gets.
type stranger struct {
	net.Listener
	certificate *tls.Certificate // nil: it has no TLS
	md5         bool

	mu  sync.Mutex
	got string // everything that it was sent as a password
}

func newStranger(t *testing.T, certificate *tls.Certificate, md5 bool) *stranger {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{Listener: l, certificate: certificate, md5: md5}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *stranger) serve(c net.Conn) {
	defer c.Close()
	for {
		b := pgproto3.NewBackend(c, c)
		first, err := b.ReceiveStartupMessage()
		if _, wants := first.(*pgproto3.SSLRequest); err == nil && wants {
			if s.certificate == nil {
				_, err = io.WriteString(c, "N")
			} else if _, err = io.WriteString(c, "S"); err == nil {
				c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*s.certificate}})
			}
			if err != nil {
				return
			}
			continue
		}
		if err != nil {
			return
		}
		if s.md5 {
			b.Send(&pgproto3.AuthenticationMD5Password{})
			_ = b.SetAuthType(pgproto3.AuthTypeMD5Password)
		} else {
			b.Send(&pgproto3.AuthenticationCleartextPassword{})
			_ = b.SetAuthType(pgproto3.AuthTypeCleartextPassword)
		}
		if b.Flush() != nil {
			return
		}
		if message, err := b.Receive(); err == nil {
			s.mu.Lock()
			s.got += message.(*pgproto3.PasswordMessage).Password
			s.mu.Unlock()
		}
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "thank you"})
		_ = b.Flush() // it is not trusted anyway
		return
	}
}

// certified makes the certificate of a host, signed by an authority of its own, and returns the file of the authority.
func certified(t *testing.T, host string) (*tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// connect connects as the URL says. A false answer of the name service leads to the stranger. It returns what the
// stranger got of the password.
func connect(t *testing.T, url string, s *stranger) (string, error) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	target, err := parseURL(strings.ReplaceAll(url, "PORT", port))
	if err != nil {
		return "", err
	}
	config := target.pool.ConnConfig
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	if c, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		t.Errorf("%s: connected: %v", url, c.Close(t.Context()))
	} else {
		text := explain(err).Error()
		if strings.Contains(text, "another machine") { // a program on this one may have asked for TLS, too
			t.Errorf("%s: it says where the server is, and cannot know: %s", url, text)
		}
		if refused := strings.Contains(text, "28P01"); !refused && !strings.Contains(text, "sslmode=") &&
			!strings.Contains(text, "sslrootcert=") {
			t.Errorf("%s: it does not say what to do: %s", url, text)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got, nil
}

// A stranger that pretends to be the server gets no password, unless the URL allows it.
func TestPasswordsAreForVerifiedServersOnly(t *testing.T) {
	t.Parallel()
	ours, ca := certified(t, "db.example.org")
	false1, _ := certified(t, "db.example.org")
	other, otherCA := certified(t, "other.example.org")
	const at = "postgres://anna:geheim@db.example.org:PORT/locks"
	for _, c := range []struct {
		url         string
		certificate *tls.Certificate
		gets        bool
	}{
		{at, nil, false},
		{at, false1, false},
		{at + "?sslrootcert=" + ca, nil, false},
		{at + "?sslrootcert=" + ca, false1, false},
		{at + "?sslrootcert=" + otherCA, other, false}, // of another host
		{at + "?sslrootcert=" + ca, ours, true},
		{at + "?sslmode=disable", nil, false},
		{at + "?sslmode=require", nil, false},
		{at + "?sslmode=require", false1, false},
		{at + "?sslmode=verify-ca&sslrootcert=" + ca, false1, false},
		{at + "?sslmode=verify-ca&sslrootcert=" + otherCA, other, true},
		{at + "?sslmode=verify-full&sslrootcert=" + ca, ours, true},
		// which is what it says
		{at + "?sslmode=disable&require_auth=password,md5", nil, true},
		// no weaker for a host that is here
		{"postgres://anna:geheim@localhost:PORT,db.example.org:PORT/locks", nil, false},
		// wherever the host stands
		{"postgres://anna:geheim@/locks?host=db.example.org&port=PORT", nil, false},
		{"postgres://anna:geheim@/locks?host=127.0.0.1&port=PORT", nil, true},                       // on this machine
		{"postgres://anna:geheim@/locks?host=db.example.org&port=PORT&sslmode=disable", nil, false}, // as above
	} {
		for _, md5 := range []bool{false, true} {
			t.Run(fmt.Sprint(strings.ReplaceAll(c.url, "/", "|"), c.certificate != nil, md5), func(t *testing.T) {
				t.Parallel()
				s := newStranger(t, c.certificate, md5)
				got, err := connect(t, c.url, s)
				if err != nil {
					t.Fatal(err)
				}
				if (got != "") != c.gets || strings.Contains(got, "geheim") != (c.gets && !md5) {
					t.Errorf("the stranger got %q", got)
				}
			})
		}
	}
}

func TestURLsThatWouldFallBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"prefer", "allow", "", "verify_full"} {
		_, err := parseURL("postgres://anna:geheim@db.example.org/locks?sslmode=" + mode)
		if wrong, ok := errors.AsType[*URLError](err); !ok || wrong.Value != "sslmode" ||
			!strings.Contains(wrong.Allowed, "verify-full") {
			t.Errorf("sslmode=%s: %v", mode, err)
		}
	}
}

// Without sslrootcert, any public certificate would do for verify-ca; psql refuses that, too. A misspelled value must
// not be taken for another one.
func TestURLsThatVerifyLessThanTheySay(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // the home directory may have a root.crt
	for parameters, wrong := range map[string]URLError{
		"sslmode=verify-ca": {Part: "parameter", Value: "sslmode", Allowed: allowedVerifyCA},
		"sslsni=x":          {Part: "parameter", Value: "sslsni", Allowed: "0 or 1"},
		"sslsni=true":       {Part: "parameter", Value: "sslsni", Allowed: "0 or 1"},
		"sslnegotiation=x":  {Part: "parameter", Value: "sslnegotiation", Allowed: "postgres or direct"},
	} {
		for _, host := range []string{"db.example.org", "localhost"} {
			wrong.Engine = "postgres"
			_, err := parseURL("postgres://anna:geheim@" + host + "/locks?" + parameters)
			if got, ok := errors.AsType[*URLError](err); !ok || *got != wrong {
				t.Errorf("%s on %s: %v, want %v", parameters, host, err, &wrong)
			}
		}
	}
	_, ca := certified(t, "db.example.org")
	for _, parameters := range []string{"sslmode=verify-ca&sslrootcert=" + ca, "sslmode=verify-ca&sslrootcert=system",
		"sslsni=0", "sslsni=1", "sslnegotiation=direct", "sslnegotiation=postgres"} {
		if _, err := parseURL("postgres://anna:geheim@db.example.org/locks?" + parameters); err != nil {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	t.Setenv("PGSSLMODE", "verify-ca") // it applies on this machine
	if _, err := parseURL("postgres://anna:geheim@localhost/locks"); err == nil {
		t.Error("PGSSLMODE=verify-ca without an authority is allowed")
	}
}

// What the environment says about TLS and passwords may be stricter than the default, but not weaker: it was made for
// other programs.
func TestEnvironmentDoesNotWeaken(t *testing.T) {
	for _, variable := range []string{"PGSSLMODE=disable", "PGSSLMODE=prefer", "PGREQUIREAUTH=password,md5"} {
		name, value, _ := strings.Cut(variable, "=")
		t.Run(variable, func(t *testing.T) {
			t.Setenv(name, value)
			for _, more := range []string{"", "?sslmode=disable"} {
				if got, err := connect(t, "postgres://anna:geheim@db.example.org:PORT/locks"+more,
					newStranger(t, nil, false)); got != "" || err != nil {
					t.Errorf("%q: the stranger got %q, %v", more, got, err)
				}
			}
		})
	}
	t.Setenv("PGREQUIREAUTH", "scram-sha-256")
	target, err := parseURL("postgres://db.example.org/locks?sslmode=disable")
	if err != nil || target.pool.ConnConfig.RequireAuth != "scram-sha-256" {
		t.Errorf("%v, %v", target, err)
	}
}

func TestMethodsThatShowPasswords(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		"": true, "password": true, "scram-sha-256, md5": true, "!md5": true, "!password,!md5": false,
		"scram-sha-256": false, "none,gss": false, "! md5": true,
	} {
		if got := exposesPassword(list); got != want {
			t.Errorf("%s: %v", strconv.Quote(list), got)
		}
	}
}
