// Package zookeeper is an engine that keeps locks in a ZooKeeper ensemble.
package zookeeper
