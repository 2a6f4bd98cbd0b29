module github.com/leasehold-go/leasehold/lab/docs

go 1.26.0

require (
	github.com/creack/pty v1.1.24 // the terminal that commands ask on
	github.com/leasehold-go/leasehold v0.0.0
)

replace github.com/leasehold-go/leasehold => ../..
