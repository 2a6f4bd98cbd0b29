// Package redis is an engine that keeps locks in Redis: a single server, servers that Sentinels watch, or a
// Cluster. It needs Redis 7.0 or later, or Valkey.
package redis
