package etcd

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// login tells the cluster which user an engine's own client acts for. A server gives a token for user and password. It
// forgets the token when nobody has used it for a while, when the server restarts, or when the user is changed.
//
// The etcd client's own login is not used, for two reasons. It shows the old token when it asks for a new one, for
// which a server before 3.5 refuses it, and asks again without a pause. And it logs in for each stream, such as that of
// a keepalive, which is much work for a server.
type login struct {
	user, password string
	auth           pb.AuthClient          // set once there is a connection
	token          atomic.Pointer[string] // nil before the first login; empty if authentication was off then
	loginSlot      chan struct{}          // has room for one call, which logs in
}

// authService is the service that logs users in. It needs no token.
const authService = "/etcdserverpb.Auth"

func newLogin(user, password string) *login {
	return &login{user: user, password: password, loginSlot: make(chan struct{}, 1)}
}

// options makes a client log in.
func (l *login) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithPerRPCCredentials(l), grpc.WithChainUnaryInterceptor(l.intercept)}
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (l *login) GetRequestMetadata(_ context.Context, uri ...string) (map[string]string, error) {
	token := l.token.Load()
	if token == nil || *token == "" || len(uri) > 0 && strings.HasSuffix(uri[0], authService) {
		return nil, nil
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: *token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Whether there is TLS is up to the URL.
func (l *login) RequireTransportSecurity() bool { return false }

// intercept sends a request, with withToken.
func (l *login) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	send := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
	if strings.HasPrefix(method, authService+"/") {
		return send()
	}
	return l.withToken(ctx, send)
}

// withToken calls send, which sends a request. If the server does not know the token any more, it logs in and calls
// send again, since the first request had no effect. l may be nil.
//
// Among streams only keepalives need it: servers check their token since etcd 3.7. Watches begin after a request.
func (l *login) withToken(ctx context.Context, send func() error) error {
	if l == nil {
		return send()
	}
	used := l.token.Load()
	err := send()
	if !isTokenUnknown(err) {
		return err
	}
	if err := l.renewToken(ctx, used); err != nil {
		return err
	}
	return send()
}

// isUnchecked reports whether authentication was off at the last login: the servers take any user and password. When it
// is switched on, the next request logs in.
func (l *login) isUnchecked() bool {
	token := l.token.Load()
	return token != nil && *token == ""
}

// isTokenUnknown reports whether a server does not know a token, or the user's rights have changed since it was given.
func isTokenUnknown(err error) bool {
	known := rpctypes.Error(err)
	return errors.Is(known, rpctypes.ErrInvalidAuthToken) || errors.Is(known, rpctypes.ErrUserEmpty) ||
		errors.Is(known, rpctypes.ErrAuthOldRevision)
}

// renewToken gets another token than the one that was used, unless another call has got one meanwhile.
func (l *login) renewToken(ctx context.Context, used *string) error {
	select {
	case l.loginSlot <- struct{}{}:
		defer func() { <-l.loginSlot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.token.Load() != used {
		return nil
	}
	r, err := l.auth.Authenticate(ctx, &pb.AuthenticateRequest{Name: l.user, Password: l.password})
	switch {
	case err == nil:
		l.token.Store(&r.Token)
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled):
		l.token.Store(new(string))
	default:
		return err
	}
	return nil
}
