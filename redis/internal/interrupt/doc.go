// Package interrupt makes requests of a go-redis client end when their context is cancelled. The client itself observes
// at most the deadline of a context. Otherwise each request would need a goroutine that its caller can leave, and
// waking that and the caller costs as much processor time as half of the request.
//
// The client gives the deadline of a context to the connection, just as the context returns it. So the deadline can say
// whose it is: that of a [Context] has a time zone of its own. The connections, which a hook of the client makes, learn
// in this way which request they serve, and when that is cancelled, they let its deadline pass.
//
//	Interrupter   one client
//	Context       of one request
//	conn          a connection, which knows the request that it serves
package interrupt
