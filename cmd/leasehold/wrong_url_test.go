//go:build unix

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/etcdserver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// URLs that do not fit the server: with TLS or without, a Sentinel or none, another server. The scripts in "wrong" have
// the addresses of these servers.
func TestURLsThatDoNotFit(t *testing.T) {
	t.Parallel()
	replicated := redisserver.ReplicatedForTest(t, 0, redisserver.Config{})
	sentinels := redisserver.SentinelsForTest(t, 1, replicated)
	secure := startWithTLS(t)
	secureEtcd := etcdserver.ForTest(t, etcdserver.Config{
		Cert: filepath.Join(secure.dir, "server.pem"), Key: filepath.Join(secure.dir, "server.key"),
	})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secureWeb := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secureWeb.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	s := &testServers{url: "memory:", broken: map[string]string{
		"REDIS":      replicated.Master.Addr(),
		"REDIS_TLS":  secure.addr,
		"SENTINEL":   sentinels.Addrs()[0],
		"ETCD":       hostOf(etcdserver.ForTest(t, etcdserver.Config{}).URL()),
		"ETCD_TLS":   hostOf(secureEtcd.URL()),
		"ZOOKEEPER":  zookeeperserver.ForTest(t, zookeeperserver.Config{}).Addr(),
		"WEB":        web.Listener.Addr().String(),
		"SECURE_WEB": secureWeb.Listener.Addr().String(),
		"SILENT":     silent.Addr().String(),
	}}
	s.run(t, able{}, "wrong")
}

// hostOf returns the host and port of a URL.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	return rest
}
