package etcd

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// authFake gives tokens.
type authFake struct {
	pb.AuthClient
	logins int
}

func (f *authFake) Authenticate(
	context.Context, *pb.AuthenticateRequest, ...grpc.CallOption,
) (*pb.AuthenticateResponse, error) {
	f.logins++
	return &pb.AuthenticateResponse{Token: "new"}, nil
}

// A server that does not know the token of a keepalive is shown another one, so that the session goes on. Since etcd
// 3.7 servers look at it.
func TestKeepaliveWithoutAKnownTokenLogsIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, auth := &fake{term: 1}, &authFake{}
		e := f.engine(t)
		e.login = newLogin("user", "password")
		e.login.auth = auth
		old := "old"
		e.login.token.Store(&old)
		asked := 0
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			asked++
			if *e.login.token.Load() != "new" {
				return nil, rpctypes.ErrGRPCInvalidAuthToken
			}
			return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, TTL: 100}, nil
		}
		s, start, err := e.sessions.get(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		again, now, err := e.sessions.get(t.Context(), 10)
		if err != nil || again != s || now.Since(start) < 5*time.Second || asked != 2 || auth.logins != 1 {
			t.Errorf("asked %d times, %d logins, the same session: %v, %v", asked, auth.logins, again == s, err)
		}
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			asked++
			return nil, rpctypes.ErrGRPCInvalidAuthToken
		}
		time.Sleep(5 * time.Second)
		_, _, err = e.sessions.get(t.Context(), 10)
		if !errors.Is(rpctypes.Error(err), rpctypes.ErrInvalidAuthToken) || asked != 4 {
			t.Errorf("a server that knows no token was asked %d times: %v", asked-2, err)
		}
	})
}
