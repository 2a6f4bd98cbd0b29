//go:build no_redis || no_servers

package engine

// This build has no engine on Redis.
var openRedis, openRedlock, examineRedlock, openRedisson openFunc
