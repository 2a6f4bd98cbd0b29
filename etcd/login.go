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

// login is how an engine's own client says who asks. A server gives a token for user and password, and forgets it when nobody has used it for a while, when it is started again, or when the user is changed.
//
// The client of etcd does not do it: it shows the old token when it asks for a new one, for which a server before 3.5 refuses it, and asks again without a pause. Besides, it logs in for each stream, as one that keeps a lease
// alive is, and that is much work for a server.
type login struct {
	user, password string
	token          atomic.Pointer[string] // nil before the first login
	turn           chan struct{}          // has room for the one who logs in
}

// authService is what logs in, and needs no token.
const authService = "/etcdserverpb.Auth"

func newLogin(user, password string) *login {
	return &login{user: user, password: password, turn: make(chan struct{}, 1)}
}

// options has a client log in so.
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

// RequireTransportSecurity implements credentials.PerRPCCredentials. The URL says whether there is TLS.
func (l *login) RequireTransportSecurity() bool { return false }

// intercept sends a request, and once more after a new login if the token is not known any more: it has had no effect then. A stream begins after a request.
func (l *login) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	used := l.token.Load()
	err := invoke(ctx, method, req, reply, cc, opts...)
	if !forgotten(err) || strings.HasPrefix(method, authService+"/") {
		return err
	}
	if err := l.renew(ctx, cc, used); err != nil {
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// forgotten reports whether a server does not know a token, or what the user may do has changed since.
func forgotten(err error) bool {
	known := rpctypes.Error(err)
	return errors.Is(known, rpctypes.ErrInvalidAuthToken) || errors.Is(known, rpctypes.ErrUserEmpty) || errors.Is(known, rpctypes.ErrAuthOldRevision)
}

// renew gets another token than the one that was used, unless somebody else has meanwhile.
func (l *login) renew(ctx context.Context, cc grpc.ClientConnInterface, used *string) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.token.Load() != used {
		return nil
	}
	r, err := pb.NewAuthClient(cc).Authenticate(ctx, &pb.AuthenticateRequest{Name: l.user, Password: l.password})
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
