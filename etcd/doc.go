// Package etcd is an engine that keeps locks in an etcd cluster.
package etcd
