module github.com/leasehold-go/leasehold/lab/redisson

go 1.26.0

require github.com/leasehold-go/leasehold v0.0.0

replace github.com/leasehold-go/leasehold => ../..
