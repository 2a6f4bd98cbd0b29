package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The conditions of transactions.

// compareCreatedAt is true if the key was created at the revision. Revision 0 stands for a key that does not exist.
func compareCreatedAt(path string, revision int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_CREATE, Key: []byte(path),
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision},
	}
}

// compareNoneAfter is true if no key of the range was created after the revision. With revision 0 it is true if there
// is no key.
func (kr keyRange) compareNoneAfter(revision int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_LESS, Target: pb.Compare_CREATE, Key: []byte(kr.from), RangeEnd: []byte(kr.to),
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: revision + 1},
	}
}

// compareUnchanged is true if the entry is as it was read.
func (en entry) compareUnchanged() *pb.Compare { return compareModifiedAt(en.path, en.modified) }

// compareModifiedAt is true if the key was last changed at the revision. Revision 0 stands for a key that does not
// exist.
func compareModifiedAt(path string, revision int64) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: []byte(path),
		TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
	}
}

// compareEtcdLease is true if the key is attached to the etcd lease.
func compareEtcdLease(path string, id clientv3.LeaseID) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_EQUAL, Target: pb.Compare_LEASE, Key: []byte(path),
		TargetUnion: &pb.Compare_Lease{Lease: int64(id)},
	}
}

// compareExists is true if the key exists.
func compareExists(path string) *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_GREATER, Target: pb.Compare_CREATE, Key: []byte(path),
		TargetUnion: &pb.Compare_CreateRevision{},
	}
}

// compareAllShared is true if there are entries and all of them are shared.
func (kr keyRange) compareAllShared() *pb.Compare {
	return &pb.Compare{
		Result: pb.Compare_GREATER, Target: pb.Compare_VALUE, Key: []byte(kr.from), RangeEnd: []byte(kr.to),
		TargetUnion: &pb.Compare_Value{Value: []byte(sharedAbove)},
	}
}

// all returns a list of conditions, all of which must be true.
func all(cmps ...*pb.Compare) []*pb.Compare { return cmps }
