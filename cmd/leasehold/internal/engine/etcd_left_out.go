//go:build no_etcd || no_servers

package engine

var openEtcd openFunc // this build has no engine etcd
