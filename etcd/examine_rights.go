package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// judgeRights finds what the user may not do with the keys of the engine. It asks one server; without a leader, there is no answer. It returns an
// error if nobody is let in by this name.
func judgeRights(ctx context.Context, f *findings, v *visit, user, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, examining)
	defer cancel()
	var lacks []string
	for _, right := range []struct {
		name string
		ask  []*pb.RequestOp
	}{
		{"read", []*pb.RequestOp{reading(prefix)}},
		{"write", []*pb.RequestOp{writing(prefix), writing(prefix + "\xff")}},
	} {
		switch err := rpctypes.Error(probe(ctx, v, right.ask)); {
		case errors.Is(err, rpctypes.ErrPermissionDenied):
			lacks = append(lacks, right.name)
		case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrInvalidAuthToken):
			return err
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	mend := fmt.Sprintf("etcdctl role grant-permission ROLE readwrite --prefix %q, and etcdctl user grant-role USER ROLE", prefix)
	some, err := mayUseSome(ctx, v, user, prefix)
	switch {
	case err != nil:
		f.add(driver.Warning, "rights", "",
			fmt.Sprintf("the user may not %s all keys that begin with %q, and it could not be found out whether some of them: no lock can be had for other names", strings.Join(lacks, " or "), prefix), mend)
	case some:
		f.add(driver.Note, "rights-names", "",
			fmt.Sprintf("the user may not %s all keys that begin with %q. If it is meant for some names, all is well", strings.Join(lacks, " or "), prefix), mend)
	default:
		f.add(driver.Critical, "rights", "", fmt.Sprintf("the user may not %s the keys that begin with %q: no lock can be had", strings.Join(lacks, " or "), prefix), mend)
	}
	return nil
}

// probe asks for what is never done, as it is for when the condition of the transaction does not hold, and there is none. The server looks at the
// rights all the same.
func probe(ctx context.Context, v *visit, never []*pb.RequestOp) error {
	_, err := pb.NewKVClient(v.conn).Txn(ctx, &pb.TxnRequest{Failure: never})
	return err
}

func reading(prefix string) *pb.RequestOp {
	all := &pb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(prefix)), Limit: 1, KeysOnly: true}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: all}}
}

func writing(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}
}

// mayUseSome reports whether the user may read and write at least some keys with the prefix. A user may look at itself, and at its roles.
func mayUseSome(ctx context.Context, v *visit, user, prefix string) (bool, error) {
	if user == "" {
		return false, errors.New("the user is not known by name")
	}
	server := pb.NewAuthClient(v.conn)
	u, err := server.UserGet(ctx, &pb.AuthUserGetRequest{Name: user})
	if err != nil {
		return false, err
	}
	var reads, writes bool
	for _, role := range u.Roles {
		r, err := server.RoleGet(ctx, &pb.AuthRoleGetRequest{Role: role})
		if err != nil {
			return false, err
		}
		for _, p := range r.Perm {
			if overlaps(p, prefix) {
				reads = reads || p.PermType != authpb.Permission_WRITE
				writes = writes || p.PermType != authpb.Permission_READ
			}
		}
	}
	return reads && writes, nil
}

// overlaps reports whether a permission is for any key with the prefix.
func overlaps(p *authpb.Permission, prefix string) bool {
	end := clientv3.GetPrefixRangeEnd(prefix)
	switch from, to := string(p.Key), string(p.RangeEnd); to {
	case "": // one key
		return strings.HasPrefix(from, prefix)
	case "\x00": // all from there on
		return from < end
	default:
		return from < end && to > prefix
	}
}
