# "make" alone says what there is. The modules are those of go.work: "work" means all of their packages.

export GOWORK := $(CURDIR)/go.work
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the command: bin/leasehold
	go build -o bin/leasehold ./cmd/leasehold

.PHONY: test
test: compiler redis ## Run all tests, with the race detector
	CGO_ENABLED=1 go test -race -timeout 5m work
# Ten thousand seeded schedules, without the race detector, which makes them many times slower and shuffles them.
	go test -timeout 2m -run '^(TestSchedules|TestSeedReproducesItsSchedule)$$' .

# The race detector needs a C compiler, and the headers of the C library.
.PHONY: compiler
compiler:
	@scripts/need.sh "$$(go env CC | cut -d ' ' -f 1)" gcc libc6-dev

# The tests of what talks to Redis start servers of their own.
.PHONY: redis
redis:
	@scripts/need.sh redis-server redis-server

.PHONY: lint
lint: ## Check format, vet, staticcheck, go.mod files and links
	scripts/check-format.sh
	go vet work
	go run $(STATICCHECK) work
	scripts/each-module.sh go mod tidy -diff
	scripts/check-links.sh

.PHONY: modules
modules: ## Build each module by itself, as those who import it do
	GOWORK=off scripts/each-module.sh go build ./...

LIBRARY := . ./driver/... ./memory ./internal/... ./redis ./sqlite

.PHONY: portable
portable: ## Check that it builds for other systems: the command on macOS, the library on Windows and 32 bits
	GOOS=darwin GOARCH=arm64 go build work
	GOOS=windows go vet $(LIBRARY)
	GOARCH=386 go vet $(LIBRARY)

.PHONY: bench
bench: ## Run all benchmarks and print what they measure (takes some minutes)
	go test -run '^$$' -bench . -benchmem -timeout 30m work

.PHONY: performance
performance: ## Run all benchmarks and write docs/performance.md
	scripts/performance.sh

.PHONY: demo
demo: ## Let two shells contend for one lock
	scripts/demo.sh
