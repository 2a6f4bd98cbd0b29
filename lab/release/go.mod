module github.com/leasehold-go/leasehold/lab/release

go 1.26.0

require (
	github.com/google/licensecheck v0.3.1 // tells which licence a text is, as pkg.go.dev does
	golang.org/x/mod v0.43.0 // go.mod files, and zips and hashes of modules as the go command makes them
	golang.org/x/tools v0.52.0 // loads packages with their types
)

require golang.org/x/sync v0.24.0 // indirect
