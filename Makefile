# "make" alone says what there is. The modules are those of go.work: "work" means all of their packages.

export GOWORK := $(CURDIR)/go.work
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Without grpcnotrace, gRPC brings in html/template, which calls methods by their names: then the linker keeps all
# methods of everything. TAGS leaves engines out, as in TAGS=no_etcd,no_redis.
.PHONY: build
build: ## Build the command, 30 MB: bin/leasehold
	go build -tags grpcnotrace,$(TAGS) -ldflags "-s -w" -o bin/leasehold ./cmd/leasehold

.PHONY: first-run
first-run: ## Measure the first command of the README with empty caches, TAGS= with all engines (takes some minutes)
	scripts/first-run.sh

.PHONY: test
test: redis etcd postgresql pgbouncer zookeeper prometheus tmux ## Run all tests (takes five minutes)
	go list -test -export work >/dev/null # compiles all before the first test runs, which it would slow down
	LEASEHOLD_NOW=$$(date +%s) go test -vet=off -p 4 -timeout 30m $(LONGEST) work # vet is a part of make lint

.PHONY: race
race: compiler redis etcd postgresql pgbouncer zookeeper prometheus tmux ## Run all tests with the race detector (takes ten minutes)
	CGO_ENABLED=1 $(RACE) go list -test -export -race work >/dev/null
	CGO_ENABLED=1 $(RACE) go test -vet=off -race -timeout 30m $(LONGEST) work

.PHONY: long
long: compiler spin redis etcd postgresql pgbouncer zookeeper tmux ## Run more set-ups and recorded histories of the engines, the models, and the command with the race detector inside (takes some minutes)
	CGO_ENABLED=1 $(RACE) scripts/test-tagged.sh long -race -tags quietzk,long -timeout 30m
	CGO_ENABLED=1 $(RACE) go test -race -tags quietzk,long -timeout 30m ./cmd/leasehold

# How tests are compiled with the detector. The client of ZooKeeper has a race when it connects again, which does no harm to the engine; and SQLite is C
# that a program has translated, which the detector makes ten times slower. They alone are compiled without it.
QUIET := -gcflags=github.com/go-zookeeper/zk=-race=false -gcflags=modernc.org/...=-race=false
RACE := GOFLAGS="$$GOFLAGS -tags=quietzk $(QUIET)"

# What takes longest comes first.
LONGEST := ./lab/torture ./redis ./cmd/leasehold ./redis/redisson ./zookeeper ./lab/redisson ./postgres . ./redis/redlock/internal/quorum ./etcd ./sqlite ./redis/redlock ./lab/interop ./driver/drivertest \
	./lab/torture/fencing ./lab/docs ./internal/zookeeperserver

.PHONY: schedules
schedules: redis ## Run many more seeded schedules, and hand-overs, than "make test" (takes some minutes)
	go test -count 1 -timeout 2h -run '^TestSchedules$$' -v . ./redis/redlock/internal/quorum -schedules 20000
	go test -count 1 -timeout 2h -run '^TestSchedules$$' -v ./redis/internal/simulator -schedules 3000
	go test -count 1 -timeout 1h -run '^TestOrderOfThousandsOfHandOvers$$' ./redis -handovers 20000

# For an hour each: make fuzz FUZZTIME=1h. FUZZTOTAL=5m bounds all of them together, and FUZZ="FuzzA FuzzB" runs these. FUZZJOBS=2 FUZZPARALLEL=1 runs two at a
# time, with one processor each.
.PHONY: fuzz
fuzz: redis etcd postgresql zookeeper ## Run all fuzz targets, FUZZTIME=1m each
	FUZZTIME=$(or $(FUZZTIME),1m) FUZZTOTAL=$(FUZZTOTAL) FUZZJOBS=$(FUZZJOBS) FUZZPARALLEL=$(FUZZPARALLEL) scripts/fuzz.sh $(FUZZ)

# A short version is a part of "make test".
.PHONY: ticks
ticks: redis etcd postgresql ## Kill and stop processes that run once per tick, for two minutes (takes five minutes)
	go test -count 1 -v -timeout 30m -run '^TestTicks' ./lab/torture -ticks 2m

.PHONY: mutants
mutants: compiler spin redis etcd postgresql zookeeper ## Check that the tests find the faults that are planted in the code (takes some minutes)
	scripts/test-tagged.sh mutants -tags mutants -timeout 1h

# The race detector needs a C compiler, and the headers of the C library.
.PHONY: compiler
compiler:
	@scripts/need.sh "$$(go env CC | cut -d ' ' -f 1)" gcc libc6-dev

# The tests of what talks to Redis start servers of their own.
.PHONY: redis
redis:
	@scripts/need.sh redis-server redis-server

# So do those of the engine on etcd, and the benchmark.
.PHONY: etcd
etcd:
	@scripts/need.sh etcd etcd-server
	@scripts/need.sh etcdctl etcd-client # for the commands in the documents

# Those of the engine on PostgreSQL, and of the resource's side. Debian keeps the server out of PATH.
.PHONY: postgresql
postgresql:
	@scripts/need.sh '/usr/lib/postgresql/*/bin/postgres' postgresql

# That engine is tested behind a pooler, too. It may be out of the PATH of those who are not root.
.PHONY: pgbouncer
pgbouncer:
	@scripts/need.sh '/usr/sbin/pgbouncer' pgbouncer

# A library with all that a ZooKeeper server needs, and a Java without a screen.
.PHONY: zookeeper
zookeeper:
	@scripts/need.sh java default-jre-headless
	@scripts/need.sh '/usr/share/java/zookeeper.jar' libzookeeper-java

# The alert rules are tested with promtool, and in a server. Debian has both in one package.
.PHONY: prometheus
prometheus:
	@scripts/need.sh promtool prometheus
	@scripts/need.sh prometheus prometheus

# The program that drives a real Redisson. Maven downloads Redisson and what it needs (45 MB), and keeps it in ~/.m2.
.PHONY: java
java:
	@scripts/need.sh javac default-jdk-headless
	@scripts/need.sh mvn maven
	@scripts/build-redisson.sh 4.7.0 3.52.0

# The screen of leasehold top is looked at on a terminal that a test can read.
.PHONY: tmux
tmux:
	@scripts/need.sh tmux tmux

# The model of the quorum of independent Redis servers is checked with Spin.
.PHONY: spin
spin:
	@scripts/need.sh spin spin

# The shorter ones of these tests are a part of "make test", once "make java" has built the program.
.PHONY: redisson
redisson: redis java ## Run all tests against a real Redisson (gets Java and Maven; takes some minutes)
	go test -count 1 -tags redisson -timeout 30m ./lab/redisson/...

.PHONY: matrix
matrix: compiler redis java etcd postgresql pgbouncer zookeeper ## Test the engines on servers of several versions and write docs/engines/versions.md (takes more than an hour)
	scripts/matrix.sh

.PHONY: models
models: compiler spin ## Check the models at large sizes, too (takes hours and 16 GB of memory)
	LEASEHOLD_MODELS=1 go test -tags long -v -count 1 -timeout 24h ./lab/models

.PHONY: lint
lint: api-check licences vuln ## Check format, vet, staticcheck, go.mod files, links, workflows, exported names, licences and vulnerabilities
	scripts/check-format.sh
	go vet -tags mutants,long,redisson work
	go run $(STATICCHECK) -tags mutants,long,redisson work
	scripts/each-module.sh go mod tidy -diff
	scripts/check-links.sh
	go run $(ACTIONLINT)

.PHONY: api
api: ## Write what the modules export into the folder api
	@mkdir -p api
	go run ./lab/release api write

.PHONY: api-check
api-check: ## Check that the modules export what the folder api says
	go run ./lab/release api

.PHONY: licences
licences: ## Check the licences of the modules that the command links
	go run ./lab/release licences

.PHONY: vuln
vuln: ## Look for known vulnerabilities, if their database can be reached
	scripts/vuln.sh

.PHONY: modules
modules: ## Build each module by itself, without go.work
	GOWORK=off scripts/each-module.sh go build ./...

LIBRARY := . ./driver/... ./etcd ./fence ./internal/... ./memory ./postgres ./prometheus/... ./redis ./redis/redisfence ./sqlite ./zookeeper

.PHONY: portable
portable: ## Check that it builds for other systems: the command on macOS, the library on Windows and 32 bits
	GOOS=darwin GOARCH=arm64 go build work
	GOOS=windows go vet $(LIBRARY)
	GOARCH=386 go vet $(LIBRARY)

# docs/releasing.md says when these are for.
export VERSION ?= v0.1.0

.PHONY: release-check
release-check: ## Install the modules as users will get them at VERSION, from a temporary folder (takes some minutes)
	go run ./lab/release check $(VERSION)

.PHONY: release-commit
release-commit: ## Make the commit of the release VERSION on a branch of its own
	go run ./lab/release commit $(VERSION)

.PHONY: snapshot
snapshot: ## Build all that a release has into bin/dist, except the container image (takes ten minutes at first)
	scripts/snapshot.sh

.PHONY: reproducible
reproducible: ## Build the command and its packages twice in different folders, and compare (takes ten minutes)
	scripts/reproducible.sh

.PHONY: package-test
package-test: ## Install the packages in a Debian chroot, and remove them (needs root and "make snapshot")
	scripts/package-test.sh

.PHONY: dockerfile
dockerfile: ## Check the Dockerfile
	scripts/lint-dockerfile.sh

# Without etcd, PostgreSQL or ZooKeeper, their rows are left out.
.PHONY: bench
bench: redis ## Compare with other libraries and write docs/performance.md (takes a quarter of an hour)
	@scripts/need.sh etcd etcd-server || true
	@scripts/need.sh '/usr/lib/postgresql/*/bin/postgres' postgresql || true
	@scripts/need.sh '/usr/share/java/zookeeper.jar' libzookeeper-java default-jre-headless || true
	@mkdir -p bin
	go run ./lab/bench -skip '^redisson' -json bin/bench.json
	@$(PAGE)

.PHONY: bench-long
bench-long: redis ## Hold a million leases, alone and beside busy processes, for docs/performance.md (takes ten minutes and 4 GB of memory)
	@mkdir -p bin
	go run ./lab/bench -set long -json bin/bench-long.json
	@$(PAGE)

.PHONY: growth
growth: redis ## Measure turns with many clients, names, leases and waiters, for docs/performance.md (takes five minutes and 4 GB of memory)
	@mkdir -p bin
	go run ./lab/bench -set growth -json bin/bench-growth.json
	@$(PAGE)

# The page has the last figures of all three, once there are those of "make bench".
PAGE = if [ -f bin/bench.json ]; then go run ./lab/bench -page docs/performance.md -figures lab/bench/figures.md \
	-from "$$(ls bin/bench.json bin/bench-long.json bin/bench-growth.json 2>/dev/null | paste -s -d ,)" >/dev/null; fi

.PHONY: bench-redisson
bench-redisson: redis java ## Compare locks of Redisson in Go and in Java and write its part of docs/redisson.md (gets Java and Maven; takes two minutes)
	@mkdir -p bin
	go run ./lab/bench -run '^redisson' -json bin/bench-redisson.json
	go run ./lab/bench -from bin/bench-redisson.json -section docs/redisson.md -figures lab/bench/figures-redisson.md >/dev/null

.PHONY: microbench
microbench: ## Measure the library alone and write docs/performance-library.md (takes some minutes)
	scripts/microbench.sh

.PHONY: demo
demo: ## Play the classic cases that break locks, and draw them for docs/demo.md
	go run ./cmd/leasehold demo c --svg docs/pictures/demo-pause.svg >/dev/null
	go run ./cmd/leasehold demo --svg docs/pictures/demo.svg

.PHONY: screen
screen: redis tmux ## Run leasehold top on a terminal, and put its screen into docs/top.md
	LEASEHOLD_WRITE_SCREEN=$(CURDIR)/docs/top.md go test -count 1 -run '^TestTop$$' ./cmd/leasehold

.PHONY: abilities
abilities: redis etcd postgresql zookeeper ## Write what each engine can do into docs/engines/README.md
	LEASEHOLD_WRITE_ABILITIES=1 go test -count 1 -run '^TestScripts$$/./^abilities$$' ./cmd/leasehold

.PHONY: site
site: ## Build the documents as a site and check it: bin/site/index.html (gets Sphinx from PyPI; takes a minute)
	scripts/site.sh

.PHONY: newcomer
newcomer: ## Follow README.md in a new minimal Debian with empty caches (takes root, debootstrap and some minutes)
	scripts/newcomer.sh

.PHONY: shells
shells: ## Let two shells contend for one lock
	scripts/demo.sh
