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
	locks, semaphores, sessions := prefix+driver.Lock.String()+"/", prefix+driver.Semaphore.String()+"/", prefix+sessionStem
	lacks := map[string]bool{}
	var lacking, grants []string
	for _, stem := range []string{locks, semaphores, sessions} {
		for _, right := range []struct {
			name string
			ask  []*pb.RequestOp
		}{
			{"read", []*pb.RequestOp{reading(stem)}},
			{"write", []*pb.RequestOp{writing(stem), writing(stem + "\xff")}},
		} {
			switch err := rpctypes.Error(probe(ctx, v, right.ask)); {
			case errors.Is(err, rpctypes.ErrPermissionDenied):
				lacks[right.name+stem] = true
				lacking = append(lacking, fmt.Sprintf("%s %q", right.name, stem))
				grants = append(grants, fmt.Sprintf("etcdctl role grant-permission ROLE --prefix=true %s %q", right.name, stem))
			case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrInvalidAuthToken):
				return err
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	reads := !lacks["read"+locks] && !lacks["read"+semaphores]
	writes := !lacks["write"+locks] && !lacks["write"+semaphores]
	noWrites := lacks["write"+locks] && lacks["write"+semaphores] && lacks["write"+sessions]
	const meant = ". If it is meant for that, all is well"
	what := "the user may not " + strings.Join(lacking, ", nor ")
	mend := strings.Join(grants, ", and ") + ", and etcdctl user grant-role USER ROLE"
	switch {
	case reads && noWrites:
		f.add(driver.Note, "rights-look", "", "the user may look, and may not lock"+meant, mend)
		return nil
	case reads && writes:
		f.add(driver.Note, "rights-look", "", "the user may look and take locks away, and may not lock"+meant, mend)
		return nil
	case lacks["read"+sessions], lacks["write"+sessions]:
		f.add(driver.Critical, "rights", "", what+": no lock can be had", mend)
		return nil
	}
	some, err := mayUseSome(ctx, v, user, locks, semaphores)
	switch {
	case err != nil:
		f.add(driver.Warning, "rights", "", what+" and all that begins so, and it could not be found out whether some of them: no lock can be had for other names", mend)
	case some:
		f.add(driver.Note, "rights-names", "", what+" and all that begins so. If it is meant for some names, all is well", mend)
	default:
		f.add(driver.Critical, "rights", "", what+": no lock can be had", mend)
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

// mayUseSome reports whether the user may read and write at least some keys with one of the prefixes. A user may look at itself, and at its roles.
func mayUseSome(ctx context.Context, v *visit, user string, prefixes ...string) (bool, error) {
	if user == "" {
		return false, errors.New("the user is not known by name")
	}
	server := pb.NewAuthClient(v.conn)
	u, err := server.UserGet(ctx, &pb.AuthUserGetRequest{Name: user})
	if err != nil {
		return false, err
	}
	reads, writes := make([]bool, len(prefixes)), make([]bool, len(prefixes))
	for _, role := range u.Roles {
		r, err := server.RoleGet(ctx, &pb.AuthRoleGetRequest{Role: role})
		if err != nil {
			return false, err
		}
		for _, p := range r.Perm {
			for i, prefix := range prefixes {
				if overlaps(p, prefix) {
					reads[i] = reads[i] || p.PermType != authpb.Permission_WRITE
					writes[i] = writes[i] || p.PermType != authpb.Permission_READ
				}
			}
		}
	}
	for i := range prefixes {
		if reads[i] && writes[i] {
			return true, nil
		}
	}
	return false, nil
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
