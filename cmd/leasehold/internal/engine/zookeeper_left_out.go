//go:build no_zookeeper || no_servers

package engine

var openZooKeeper openFunc // this build has no engine zookeeper
