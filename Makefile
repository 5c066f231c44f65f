# Targets print what they run. `make` alone lists them.

GO      ?= go
TIMEOUT ?= 25m
# Set by .ci/run, which has run the tests before.
TESTED  ?=

GOTEST := $(GO) test -timeout $(TIMEOUT)

.DEFAULT_GOAL := help
.PHONY: help check fmt vet lint test full race invariants nocgo cross bench fuzz mutants gpu gpu-bundle ptx ptxcheck ptxas sizes

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: fmt vet lint $(if $(TESTED),,test) race invariants nocgo cross ## all that must pass before a commit
	@echo "check: all passed"

fmt: ## no file differs from what gofmt makes of it
	@files=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .) && if [ -n "$$files" ]; then echo "not formatted:"; echo "$$files"; exit 1; fi

vet: ## go vet
	$(GO) vet ./...

lint: ## the rules of internal/lint: imports, docs, sizes, forbidden calls
	$(GOTEST) ./internal/lint

test: ## all tests
	$(GOTEST) ./...

full: ## the conformance suite of the kernels with every call; test makes a part of them
	$(GO) test -timeout 3h -tags full ./kernels/...

race: ## all tests, the long ones shortened, under the race detector (needs cgo)
	$(GOTEST) -race -short ./...

invariants: ## all tests with every internal check on
	$(GOTEST) -tags invariants ./...

nocgo: ## build and test without cgo
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GOTEST) ./...

cross: ## vet for the systems that the tests do not run on
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) vet ./...

bench: ## all benchmarks
	$(GO) test -run '^$$' -bench . -timeout 60m ./...

fuzz: ## each fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$($(GO) list ./...); do \
		list=$$($(GO) test -list '^Fuzz' $$pkg); \
		for target in $$(echo "$$list" | grep '^Fuzz' || true); do \
			echo "fuzz: $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(or $(FUZZTIME),20s) -fuzzminimizetime 1s $$pkg; \
		done; \
	done

mutants: ## lines of package memory, each changed for the worse: a test must notice
	$(GO) run ./memory/memorytest/mutants

gpu: ## the tests on a GPU that need one or run on any; says so where there is none
	@log=$$($(GO) test -count=1 -v -timeout 60m -run '^TestDriver' ./cuda/... 2>&1) || { echo "$$log"; exit 1; }; \
	echo "$$log" | grep -v -e '^ok ' -e '^testing: warning' -e '^PASS' -e 'no test files' -e 'no tests to run'; \
	if echo "$$log" | grep -q -e '^--- PASS: TestDriver '; then \
		TARN_TEST_DEVICE=0 $(GO) test -count=1 -timeout 60m ./kernels/gpu ./tensor; \
	else \
		echo; \
		echo "********************************************************************"; \
		echo "*  make gpu: SKIPPED. No usable CUDA driver here; nothing of the   *"; \
		echo "*  GPU was tested. The reason stands above.                        *"; \
		echo "********************************************************************"; \
	fi

gpu-bundle: ## tests and report for a machine with a GPU and no Go, in build/gpu-bundle
	GO=$(GO) internal/gpureport/bundle.sh build/gpu-bundle

ptx: ## compile the kernels of kernels/gpu to the PTX that is embedded (needs clang 19)
	kernels/gpu/build.sh

ptxcheck: ## the embedded PTX is what its sources compile to (needs clang 19)
	GO=$(GO) kernels/gpu/check.sh

ptxas: ## assemble the embedded PTX for all GPUs: no register may spill (needs ptxas in PATH or $$PTXAS)
	kernels/gpu/ptxas.sh

sizes: ## the files that are nearest to their budget of lines
	@$(GO) test -count=1 -v -run '^TestRepository$$' ./internal/lint | grep -e ' of ' -e 'source files' || true
