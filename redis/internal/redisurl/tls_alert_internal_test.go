package redisurl

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that refuses the client's certificate says why. The error has the reason even if the server has closed the
// connection before anything is sent.
func TestTLSAlertsAreReported(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair},
				ClientAuth: tls.RequireAnyClientCert}).Handshake()
			err = errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.Close()) // resets the connection
		}
		closed <- err
	}()
	target, err := parse("rediss://"+l.Addr().String()+"?ca="+ca, noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	config, err := target.tls.Config("redis")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := target.dialer(t.Context(), config)(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	for err == nil { // the first write may succeed before the reset has arrived
		_, err = conn.Write([]byte("PING\r\n"))
	}
	if !strings.Contains(err.Error(), "tls: ") {
		t.Errorf("Write: %v, want the reason", err)
	}
}
