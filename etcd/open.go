package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// Open makes an engine with a client of its own, which [Engine.Close] closes. The URL is
//
//	etcd://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]...
//
// with etcds instead of etcd for TLS. It may have these parameters behind a question mark, each at most once:
//
//	prefix         see WithPrefix
//	timeout        for a reply of a member, 3s by default; an earlier deadline of the context counts
//	dial_timeout   for a connection to a member, 2s by default
//	ca             a file of PEM certificates to trust instead of the system's
//	cert, key      the PEM files of the client's own certificate
//	server_name    the name that the servers' certificates must have, by default the host
//
// The default port is 2379. Name all members: requests go to them in turn, and the engine leaves a member that is gone
// or hangs within seconds. Percent-encode user names and passwords. What the URL leaves out is taken from the
// environment, see [EnvUser]. Certificates are always verified.
//
// The error is a [*URLError] for a URL that is not allowed, or that of a file that cannot be read. Open sends nothing
// unless there is a password: then it logs in at once, and fails if the login is refused or not answered within
// dial_timeout. No error shows a password.
func Open(rawURL string) (*Engine, error) { return openWith(rawURL, os.Getenv) }

// How soon the client leaves a member that does not answer any more. An etcd server does not accept pings more often
// than every 5 s, and the client does not send them more often than every 10 s.
const (
	pingInterval = 10 * time.Second
	pingTimeout  = 3 * time.Second
)

// windowSize is how much a member may send ahead. It is fixed: otherwise the client would send a ping after each
// answer, to find out how large it should be.
const windowSize = 1 << 20

func openWith(rawURL string, getenv func(string) string) (*Engine, error) {
	t, err := parseURL(rawURL, getenv)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := t.tls.Config("etcd")
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if t.tls.On {
		scheme = "https://"
	}
	endpoints := make([]string, len(t.addresses))
	for i, a := range t.addresses {
		endpoints[i] = scheme + a
	}
	creds := insecure.NewCredentials()
	if t.tls.On {
		creds = credentials.NewTLS(tlsConfig)
	}
	cs := &connections{ackDelay: pingAckDelay, checker: newChecker(t.tls.On)}
	dial := []grpc.DialOption{
		grpc.WithContextDialer(cs.dial), grpc.WithConnectParams(connectParams(t.dialTimeout)),
		grpc.WithStaticStreamWindowSize(windowSize), grpc.WithStaticConnWindowSize(windowSize),
		grpc.WithTransportCredentials(ackDelayer{creds, cs}),
	}
	if t.tls.ServerName != "" {
		// Otherwise the client takes the name from the address, whatever the TLS configuration says.
		dial = append(dial, grpc.WithAuthority(t.tls.ServerName))
	}
	var l *login
	if t.user != "" {
		l = newLogin(t.user, t.password)
		dial = append(dial, l.options()...)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          t.dialTimeout,
		DialKeepAliveTime:    pingInterval,
		DialKeepAliveTimeout: pingTimeout,
		TLS:                  tlsConfig,
		Logger:               zap.NewNop(),
		DialOptions:          dial,
	})
	if err == nil && l != nil {
		client.Username = t.user // doctor shows it
		ctx, cancel := context.WithTimeout(context.Background(), t.dialTimeout)
		l.auth = pb.NewAuthClient(client.ActiveConnection())
		if err = l.renewToken(ctx, nil); err != nil {
			_ = client.Close() // the first error counts
		}
		cancel()
	}
	if err != nil {
		if err = explain(err); driver.IsPermanent(err) {
			return nil, err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no member answered within %v: start them, or fix the addresses (%w)", t.dialTimeout, err)
		}
		return nil, driver.NoEffect(fmt.Errorf("etcd engine: logging in: %w", err))
	}
	e, err := New(client, t.opts...)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	e.requestTimeout, e.connections, e.login = t.timeout, cs, l
	e.findWeakness = func(address string) *exposure.Weakness {
		return exposure.FindWeakness(address, tlsConfig, t.password != "")
	}
	e.secretFiles = t.tls.SecretFiles()
	e.closeClient = sync.OnceValue(client.Close)
	return e, nil
}
