package lib

// Client is how the client of several libraries is configured.
type Client struct {
	Name   string
	Config string
}

// Clients are the clients that configurations of libraries name. On go-redis, more connections were no faster here.
// Small batches, several of them in flight, were: with the defaults of AutoPipeline the client and the server wait for
// each other.
var Clients = []Client{
	{plainClient, "ContextTimeoutEnabled, else defaults (10 connections per processor)"},
	{autoClient, "that of go-redis, with MaxBatchSize 32, MaxConcurrentBatches 8, Unordered"},
	{fiveClient, "ReadTimeout 1 s and no retries, else defaults"},
	{pgxClient, "16 connections, else defaults (statements are prepared once)"},
	{etcdClient, "one connection, defaults; a command is a call or a message in a stream"},
	{zkClient, "go-zookeeper/zk, one connection, a session of 40 s, else defaults; " +
		"a command is a request or a heartbeat"},
}
