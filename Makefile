# `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
include scripts/versions

# Without the folder in what is compiled, clones of this repository share it.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# The CLIs as tests run them; see scripts/install-claude.
test-%: export SAYSO_TEST_CLAUDE_NEW ?= $(CURDIR)/.tools/claude-$(CLAUDE_NEW)/claude-for-tests
test-%: export SAYSO_TEST_CLAUDE_OLD ?= $(CURDIR)/.tools/claude-$(CLAUDE_OLD)/claude-for-tests

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- use

.PHONY: run
run: setup-run build ## Install what is missing and start sayso on http://127.0.0.1:8787
	@SAYSO_CLAUDE="$$(scripts/claude-for-run)" exec bin/sayso serve

.PHONY: demo
demo: setup-run build ## Start with a demo session: the real CLI with a scripted model, no account needed
	@SAYSO_CLAUDE="$$(scripts/claude-for-run)" exec bin/sayso demo

.PHONY: dev
dev: setup-run frontend/node_modules/.package-lock.json ## Start from your tree with hot reload of the web app and the server; sessions continue
	@exec node scripts/dev.mjs $(FLAGS)

# --- build

.PHONY: build
build: frontend ## Build the programs into bin, the web app inside
	@mkdir -p bin
	@echo "Compiling sayso (the first time takes minutes)"
	@scripts/build-shim
	@go build -tags embedshim -o bin/ ./cmd/...

# npm writes this file at the end of every install.
frontend/node_modules/.package-lock.json: frontend/package.json frontend/package-lock.json
	@echo "Installing the packages of the web app"
	@npm ci --prefix frontend --no-audit --no-fund --loglevel error
	@touch $@

e2e/node_modules/.package-lock.json: e2e/package.json e2e/package-lock.json
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix e2e --no-audit --no-fund --loglevel error
	@touch $@

FRONTEND_SOURCES = $(shell find frontend -name node_modules -prune -o -name dist -prune -o -type f -print 2>/dev/null)
frontend/dist/index.html: frontend/node_modules/.package-lock.json $(FRONTEND_SOURCES)
	@echo "Building the web app"
	@npm run --silent --prefix frontend build -- --logLevel warn
	@touch $@

.PHONY: frontend
frontend: frontend/dist/index.html ## Build the web app into frontend/dist

# --- test

.PHONY: setup
setup: ## Install what the tests need, or print the commands that do
	@MAKE="$(MAKE)" scripts/setup test

.PHONY: setup-run
setup-run:
	@scripts/setup run

.PHONY: test
test: setup ## Run the tests every change must pass (goal: 12 minutes on 2 cores)
	@MAKE="$(MAKE)" scripts/test

.PHONY: test-all
test-all: export SAYSO_TEST_ALL = 1
test-all: setup ## Run every test, as each night: with both CLIs, all failpoints, fuzzing and torture (goal: 45 minutes)
	@MAKE="$(MAKE)" scripts/test

.PHONY: test-release
test-release: export SAYSO_TEST_ALL = 1
test-release: export SAYSO_TEST_RELEASE = 1
test-release: setup build ## Build releases and images twice and for all platforms, and take them through their life in a fresh Debian, as each night
	go test -timeout 60m -v -run '^(TestReleaseIsReproducible|TestReleaseOfAllPlatforms|TestImageRuns|TestFreshDebian)$$' ./cmd/sayso

.PHONY: test-go
test-go: ## Run the Go tests of packages with concurrency, with the race detector
	@scripts/test-go race

.PHONY: test-go-plain
test-go-plain: ## Run the Go tests of the other packages
	@scripts/test-go plain

.PHONY: test-failpoints
test-failpoints: ## Kill processes and fail steps at the most important points on an answer's way
	@scripts/test-go failpoints

.PHONY: test-web
test-web: frontend/node_modules/.package-lock.json ## Run the web app's unit tests
	@mkdir -p .tools/reports
	npm run --silent --prefix frontend test -- --reporter=default --reporter=json --outputFile.json=$(CURDIR)/.tools/reports/web.json

.PHONY: size
size: frontend ## Fail when the built web app is over its size limit
	npm run --silent --prefix frontend size

.PHONY: test-e2e
test-e2e: build e2e/node_modules/.package-lock.json ## Run the browser tests
	@mkdir -p .tools/reports
	PLAYWRIGHT_JSON_OUTPUT_NAME=$(CURDIR)/.tools/reports/e2e.json \
		npm run --silent --prefix e2e test -- --reporter=list,json

.PHONY: protocol-diff
protocol-diff: ## Say how the Claude CLI at CLI=PATH differs in what it says and does from the newest tested version
	@[ -n "$(CLI)" ] || { echo "Name the program: make protocol-diff CLI=/path/to/claude" >&2; exit 2; }
	@go run ./cmd/protocol diff "$(CLI)"

.PHONY: test-kubernetes
test-kubernetes: ## Validate the Helm chart, the manifests and the compose file in contrib
	GOFLAGS= go -C contrib/kubernetes test ./...

.PHONY: approvaltest
approvaltest: build ## Check how sayso and package claude handle approvals with a CLI that misbehaves; other hosts: docs/protocol/hosts.md
	bin/approvaltest -long client
	bin/approvaltest -long sayso bin/sayso

FUZZTIME ?= 60s
FUZZING ?= 10
.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (60s), FUZZING (10) of them at a time
	@scripts/fuzz $(FUZZTIME) $(FUZZING)

.PHONY: torture
torture: build ## Kill the server 1,000 times under load and count lost answers; kill shims; let databases, runners and connections fail; upgrade and downgrade
	bin/torture -kills 1000 -requests 3000
	bin/torture -r2
	bin/torture -shim-kills 10
	bin/torture -outages 100 -requests 2000
	bin/torture -outages 100 -requests 2000 -database postgres
	bin/torture -runners 2 -faults 20s
	bin/torture -runners 2 -faults 20s -database postgres -servers 2
	go build -tags embedshim -ldflags '-X main.version=v99.0.0-next' -o bin/next/sayso ./cmd/sayso
	bin/torture -other bin/next/sayso -kills 200 -requests 600

TORTURE ?= 10m
.PHONY: torture-cluster
torture-cluster: build ## Let servers, runners, PostgreSQL, connections and clocks fail for TORTURE (10m), with one server and with two
	bin/torture -runners 2 -faults $(TORTURE)
	bin/torture -runners 2 -faults $(TORTURE) -database postgres -servers 2

SOAK ?= 1h
.PHONY: soak
soak: build ## Let 100 sessions and 50 tabs come and go for SOAK (1h), and fail when memory or anything else grows
	bin/torture -soak $(SOAK)

.PHONY: matrix
matrix: ## Let every step from Claude to the browser and back fail in every way, and print the outcomes
	@SAYSO_TEST_ALL=1 scripts/test-go failpoints; status=$$?; cat .tools/reports/matrix.md; exit $$status

.PHONY: model
model: ## Check every state of the models in docs/model; 3 to 4 minutes
	@scripts/setup model
	docs/model/check

.PHONY: check
check: frontend/node_modules/.package-lock.json e2e/node_modules/.package-lock.json ## Check formatting, file sizes, vet, staticcheck, lint and types of the web app, generated files
	@scripts/check

.PHONY: sim
sim: frontend/node_modules/.package-lock.json e2e/node_modules/.package-lock.json ## Repeat what tests do at random: SEED=… as a failure prints it, PACKAGE=./pending, RUN=TestName
	@scripts/sim "$(SEED)" "$(PACKAGE)" "$(RUN)"

.PHONY: release
release: frontend ## Build a release into bin/release: archives, packages, checksums, SBOM and signature
	@scripts/release

.PHONY: image
image: frontend ## Build the image into bin/image, for amd64 and arm64, without a daemon; needs Debian
	@scripts/image bin/image

.PHONY: vulncheck
vulncheck: ## Look up known vulnerabilities of the dependencies; needs the internet
	@scripts/vulncheck

.PHONY: bench
bench: build e2e/node_modules/.package-lock.json ## Measure the times in docs/performance.md
	@scripts/bench

.PHONY: readme-picture
readme-picture: build e2e/node_modules/.package-lock.json ## Take the moving picture of the README
	npm run --silent --prefix e2e screenshots

.PHONY: clean
clean: ## Remove what was built; keeps .tools and your server's data
	rm -rf bin frontend/node_modules e2e/node_modules e2e/conformance/node_modules e2e/typescript/node_modules e2e/test-results
	find frontend/dist -mindepth 1 ! -name .keep -delete
