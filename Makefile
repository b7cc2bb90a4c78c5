# The steps themselves are in .ci/run, which needs no make.

.PHONY: help check build demo bench fmt

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' Makefile

check: ## everything that must be green before a change lands; exactly what CI runs
	@bash .ci/run

build: ## build the command into bin/
	go build -o bin/ ./cmd/firstgood

demo: ## run the demo: no key, no network
	go run ./cmd/firstgood demo

fmt: ## format all Go files
	gofmt -w $$(git ls-files '*.go')

bench: ## the benchmarks that README quotes
	go test -run '^$$' -bench 'Chain|Race' -count 3 ./pattern
