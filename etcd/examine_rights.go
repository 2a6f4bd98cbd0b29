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

// judgeRights finds rights that the user lacks on the engine's keys. It asks one server; without a leader there is no
// answer. The error says that the cluster does not accept the user.
func judgeRights(ctx context.Context, f *findings, rep *memberReport, user, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, maxRoundTime)
	defer cancel()
	locks, semaphores := prefix+driver.Lock.String()+"/", prefix+driver.Semaphore.String()+"/"
	sessions := prefix + sessionPrefix
	lacks := map[string]bool{}
	var missing, grants []string
	for _, keyPrefix := range []string{locks, semaphores, sessions} {
		for _, right := range []struct {
			name string
			ask  []*pb.RequestOp
		}{
			{"read", []*pb.RequestOp{opReadPrefix(keyPrefix)}},
			{"write", []*pb.RequestOp{opWrite(keyPrefix), opWrite(keyPrefix + "\xff")}},
		} {
			switch err := rpctypes.Error(probe(ctx, rep, right.ask)); {
			case errors.Is(err, rpctypes.ErrPermissionDenied):
				lacks[right.name+keyPrefix] = true
				missing = append(missing, fmt.Sprintf("%s %q", right.name, keyPrefix))
				grant := "etcdctl role grant-permission ROLE --prefix=true %s %q"
				grants = append(grants, fmt.Sprintf(grant, right.name, keyPrefix))
			case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed),
				errors.Is(err, rpctypes.ErrInvalidAuthToken):
				return err
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	reads := !lacks["read"+locks] && !lacks["read"+semaphores]
	writes := !lacks["write"+locks] && !lacks["write"+semaphores]
	noWrites := lacks["write"+locks] && lacks["write"+semaphores] && lacks["write"+sessions]
	const meant = ". That is fine if it is intended"
	what := "the user may not " + strings.Join(missing, ", nor ")
	fix := strings.Join(grants, ", and ") + ", and etcdctl user grant-role USER ROLE"
	switch {
	case reads && noWrites:
		f.add(driver.Note, "rights-look", "", "the user can list locks, but cannot take any"+meant, fix)
		return nil
	case reads && writes:
		f.add(driver.Note, "rights-look", "",
			"the user can list locks and release them by force, but cannot take any"+meant, fix)
		return nil
	case lacks["read"+sessions], lacks["write"+sessions]:
		f.add(driver.Critical, "rights", "", what+": no lock can be granted", fix)
		return nil
	}
	some, err := mayUseSome(ctx, rep, user, locks, semaphores)
	switch {
	case err != nil:
		f.add(driver.Warning, "rights", "", what+" and names below it. It is not known whether it may "+
			"do so for some of them: no lock can be granted for the others", fix)
	case some:
		f.add(driver.Note, "rights-names", "",
			what+" and names below it. That is fine if the user is meant for some names only", fix)
	default:
		f.add(driver.Critical, "rights", "", what+": no lock can be granted", fix)
	}
	return nil
}

// probe asks for operations that are never done: they stand in the branch of a transaction that is not taken. The
// server checks the rights all the same.
func probe(ctx context.Context, rep *memberReport, never []*pb.RequestOp) error {
	_, err := pb.NewKVClient(rep.conn).Txn(ctx, &pb.TxnRequest{Failure: never})
	return err
}

func opReadPrefix(prefix string) *pb.RequestOp {
	end := clientv3.GetPrefixRangeEnd(prefix)
	all := &pb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(end), Limit: 1, KeysOnly: true}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: all}}
}

func opWrite(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}
}

// mayUseSome reports whether the user may both read and write at least some keys with one of the prefixes. Every user
// may look up itself and its roles.
func mayUseSome(ctx context.Context, rep *memberReport, user string, prefixes ...string) (bool, error) {
	if user == "" {
		return false, errors.New("the user is not known by name")
	}
	server := pb.NewAuthClient(rep.conn)
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

// overlaps reports whether a permission covers any key with the prefix.
func overlaps(p *authpb.Permission, prefix string) bool {
	end := clientv3.GetPrefixRangeEnd(prefix)
	switch from, to := string(p.Key), string(p.RangeEnd); to {
	case "": // one key
		return strings.HasPrefix(from, prefix)
	case "\x00": // all keys from this one on
		return from < end
	default:
		return from < end && to > prefix
	}
}
