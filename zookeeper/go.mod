module github.com/leasehold-go/leasehold/zookeeper

go 1.26.0

require (
	github.com/leasehold-go/leasehold v0.0.0
	go.uber.org/goleak v1.3.0
)

require github.com/go-zookeeper/zk v1.0.4

replace github.com/leasehold-go/leasehold => ../
