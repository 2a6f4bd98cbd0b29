package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Open makes an engine with a client of its own, which [Engine.Close] closes. The URL is
//
//	etcd://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]...
//
// with etcds instead of etcd for TLS, and these parameters behind a question mark, each at most once:
//
//	prefix         see WithPrefix
//	timeout        for a reply of a member, 3s by default; the context of a request ends it earlier
//	dial_timeout   for a connection to a member, 2s by default
//	ca             a file of PEM certificates to trust instead of the system's
//	cert, key      the PEM files of the client's own certificate
//	server_name    the name that the servers' certificates must have, by default the host
//
// The port is 2379 by default. Name all members: requests go to them in turn, and a member that is gone, or hangs, is left within seconds.
// User names and passwords are percent-encoded. What the URL leaves out is taken from the environment, see [EnvUser]. Certificates are
// always checked.
//
// A URL that is not allowed is a [*URLError]; other errors are those of files that cannot be read. Nothing is sent yet, unless there is a
// password: the client then logs in at once, and Open fails if that is refused, or not answered within dial_timeout. No error shows a
// password.
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

// How soon a member is left that does not answer any more: no server of etcd lets itself be asked more often than each 5 s, nor does the
// client ask more often than each 10 s.
const (
	aliveEvery = 10 * time.Second
	aliveLimit = 3 * time.Second
)

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	t, err := parseURL(rawURL, getenv)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := t.tlsConfig()
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if t.tls {
		scheme = "https://"
	}
	endpoints := make([]string, len(t.addresses))
	for i, a := range t.addresses {
		endpoints[i] = scheme + a
	}
	w := new(wires)
	dial := []grpc.DialOption{grpc.WithContextDialer(w.dial), grpc.WithConnectParams(again(t.dialTimeout))}
	if t.files.ServerName != "" { // the client takes the name from the address otherwise, whatever the configuration of TLS says
		dial = append(dial, grpc.WithAuthority(t.files.ServerName))
	}
	var who *login
	if t.user != "" {
		who = newLogin(t.user, t.password)
		dial = append(dial, who.options()...)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          t.dialTimeout,
		DialKeepAliveTime:    aliveEvery,
		DialKeepAliveTimeout: aliveLimit,
		TLS:                  tlsConfig,
		Logger:               zap.NewNop(),
		DialOptions:          dial,
	})
	if err == nil && who != nil {
		client.Username = t.user // for doctor
		ctx, cancel := context.WithTimeout(context.Background(), t.dialTimeout)
		if err = who.renew(ctx, client.ActiveConnection(), nil); err != nil {
			_ = client.Close() // the error to be told is another one
		}
		cancel()
	}
	if err != nil {
		if err = explain(err); driver.IsPermanent(err) {
			return nil, err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no member answered within %v: start them, or mend the addresses (%w)", t.dialTimeout, err)
		}
		return nil, driver.NoEffect(fmt.Errorf("etcd engine: logging in: %w", err))
	}
	e, err := New(client, t.opts...)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	e.limit, e.wires = t.timeout, w
	e.weak = func(address string) *exposure.Weakness { return exposure.Weak(address, tlsConfig, t.password != "") }
	e.shut = sync.OnceValue(client.Close)
	return e, nil
}

// tlsConfig is nil for a URL without TLS.
func (t *target) tlsConfig() (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	c, err := t.files.Config()
	if err != nil {
		return nil, fmt.Errorf("etcd engine: URL: %w", err)
	}
	return c, nil
}
