# sayso. `make` alone lists what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
include scripts/versions

# Empty outside git and before the first tag; sayso then tells its commit.
VERSION := $(shell git describe --tags --dirty 2>/dev/null)

CLAUDE_DIR = .tools/claude-$(1)/node_modules/@anthropic-ai/claude-code/bin/claude.exe
export SAYSO_TEST_CLAUDE_NEW ?= $(CURDIR)/$(call CLAUDE_DIR,$(CLAUDE_NEW))
export SAYSO_TEST_CLAUDE_OLD ?= $(CURDIR)/$(call CLAUDE_DIR,$(CLAUDE_OLD))

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- use

.PHONY: run
run: setup-run build ## Set up what is missing and start sayso on http://127.0.0.1:8787
	@SAYSO_CLAUDE="$$(scripts/claude-for-run)" exec bin/sayso serve

.PHONY: demo
demo: setup-run build ## Start into a demo session: the real CLI on a scripted model, no account needed
	@SAYSO_CLAUDE="$$(scripts/claude-for-run)" exec bin/sayso demo

# --- build

.PHONY: build
build: frontend ## Build bin/sayso with the web app inside
	@mkdir -p bin
	go build -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/...

# npm writes this file at the end of every install.
frontend/node_modules/.package-lock.json: frontend/package.json frontend/package-lock.json
	npm ci --prefix frontend --no-audit --no-fund --loglevel error
	@touch $@

e2e/node_modules/.package-lock.json: e2e/package.json e2e/package-lock.json
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix e2e --no-audit --no-fund --loglevel error
	@touch $@

FRONTEND_SOURCES = $(shell find frontend -name node_modules -prune -o -name dist -prune -o -type f -print 2>/dev/null)
frontend/dist/index.html: frontend/node_modules/.package-lock.json $(FRONTEND_SOURCES)
	npm run --silent --prefix frontend build -- --logLevel warn
	@touch $@

.PHONY: frontend
frontend: frontend/dist/index.html ## Build the web app into frontend/dist

# --- test

.PHONY: setup
setup: ## Install what the tests need, or say exactly what to type
	@scripts/setup test

.PHONY: setup-run
setup-run:
	@scripts/setup run

.PHONY: test
test: setup ## Run all tests: Go with the race detector, the web app's, the browser's with both CLIs, fuzzing
	@MAKE="$(MAKE)" scripts/test

.PHONY: test-go
test-go: ## Run the Go tests
	@scripts/test-go

.PHONY: test-web
test-web: frontend/node_modules/.package-lock.json ## Run the web app's unit tests
	@mkdir -p .tools/reports
	npm run --silent --prefix frontend test -- --reporter=default --reporter=json --outputFile.json=$(CURDIR)/.tools/reports/web.json

.PHONY: size
size: frontend ## Fail when the built web app is larger than it may be
	npm run --silent --prefix frontend size

.PHONY: test-e2e
test-e2e: build e2e/node_modules/.package-lock.json ## Run the browser tests
	@mkdir -p .tools/reports
	SAYSO_TEST_CHROMIUM="$$(scripts/chromium)" PLAYWRIGHT_JSON_OUTPUT_NAME=$(CURDIR)/.tools/reports/e2e.json \
		npm run --silent --prefix e2e test -- --reporter=list,json

FUZZTIME ?= 60s
FUZZING ?= 10
.PHONY: fuzz
fuzz: ## Fuzz every target for a minute, or for FUZZTIME, FUZZING of them at once
	@scripts/fuzz $(FUZZTIME) $(FUZZING)

.PHONY: torture
torture: build ## Kill the server 1,000 times under load and count; time the return of 1,000 forms; kill shims; upgrade and back
	bin/torture -kills 1000 -requests 3000
	bin/torture -r2
	bin/torture -shim-kills 10
	go build -ldflags '-X main.version=v99.0.0-next' -o bin/next/sayso ./cmd/sayso
	bin/torture -other bin/next/sayso -kills 200 -requests 600

.PHONY: matrix
matrix: ## Let every step between Claude's stdout and its stdin fail in every way, and print what became of it
	@mkdir -p .tools/reports
	@status=0; SAYSO_MATRIX=full SAYSO_MATRIX_TABLE=$(CURDIR)/.tools/reports/matrix.md \
		go test -race -count=1 -timeout 90m -tags failpoints ./internal/failpoint/matrix || status=1; cat .tools/reports/matrix.md; exit $$status

.PHONY: model
model: ## Search every state of the model in docs/model, two or three minutes
	@scripts/setup model
	docs/model/check

.PHONY: check
check: frontend/node_modules/.package-lock.json ## Check formatting, file sizes, vet, staticcheck, lint and types of the web app, generated files
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt -w is due for:"; echo "$$unformatted"; exit 1; fi
	@scripts/check-file-sizes
	go vet ./...
	go vet -tags failpoints ./internal/failpoint/... ./store
	go tool staticcheck ./...
	npm run --silent --prefix frontend lint
	npm run --silent --prefix frontend typecheck
	go test -run '^(TestGoldenMessages|TestTypeScript|TestSchema)$$' ./wsapi
	@scripts/vulncheck --may-be-away

.PHONY: release
release: frontend ## Build the programs of a release with their sums, parts and signature into bin/release
	@scripts/release

.PHONY: vulncheck
vulncheck: ## Look up known weaknesses in dependencies; needs the internet
	@scripts/vulncheck

.PHONY: bench
bench: build e2e/node_modules/.package-lock.json ## Measure what we promise to be quick at, beside anchors from the same run
	@scripts/bench

.PHONY: screenshots
screenshots: build e2e/node_modules/.package-lock.json ## Take the pictures in docs/screenshots
	SAYSO_TEST_CHROMIUM="$$(scripts/chromium)" npm run --silent --prefix e2e screenshots

.PHONY: clean
clean: ## Remove what was built; .tools and the state of your server stay
	rm -rf bin frontend/node_modules e2e/node_modules e2e/conformance/node_modules e2e/test-results
	find frontend/dist -mindepth 1 ! -name .keep -delete
