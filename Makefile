# Everything here works from a fresh clone with Go, make and git; make test
# wants a C compiler too, for the race detector. Tools are pinned in
# go.tools.mod and go.lint.mod, and built by the go command when first used.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The container image that dist/install.yaml runs.
IMAGE   ?= ghcr.io/spillway-io/spillway:dev
# That of the operator of hosted clusters, which dist/hosted.yaml runs.
HOSTED_IMAGE ?= ghcr.io/spillway-io/spillway-hosted:dev
# Where install-yaml writes. The demo has its own, so that it leaves yours alone.
DIST    ?= dist
# For some of the tests, and further arguments of go test: make test PKG=./internal/... ARGS='-run Fuzz -v'
PKG     ?=
ARGS    ?=

# Without the paths of this checkout in what is built, Go finds it in its caches again
# when another clone of the same code is built and tested.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)

tool := $(GO) tool -modfile=go.tools.mod
helm := $(GO) tool -modfile=go.helm.mod helm
lint := $(GO) tool -modfile=go.lint.mod golangci-lint

# Where envtest finds etcd, kube-apiserver and kubectl.
export KUBEBUILDER_ASSETS := $(CURDIR)/bin/kube
# How long envtest lets one of them start and stop. By default it is 20 seconds,
# of which a busy machine may need more.
export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT := 2m
export KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT := 1m

.PHONY: help build programs check test test-long lint generate verify kube metrics-server csi karpenter kueue demo demo-here demo-down demo-hosted e2e bench faults upgrade alerts docs install-yaml image chart release-snapshot

help: ## Show what there is to make.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: programs ## Build bin/manager, bin/hosted and bin/kubectl-spillway.
	$(call program,./hosted/cmd/hosted)

# What make demo needs: without the SDKs of the clouds, the first build takes half as long.
programs:
	$(call program,./cmd/manager)
	$(call program,./cmd/kubectl-spillway)

program = CGO_ENABLED=0 $(GO) build -ldflags '-X main.version=$(VERSION)' -o bin/$(notdir $(1)) $(1)

check: kube ## Check format, build, lint and unit tests, within two minutes: before each commit.
	@GO='$(GO)' hack/check.sh

test: kube ## Run the unit tests with the race detector, and the quick tests on real API servers.
	@GO='$(GO)' PKG='$(PKG)' hack/test.sh $(ARGS)

test-long: kube ## Run all that make test leaves out, for hours (PART=crash,hostile for some; RESUME=1 to go on).
	@GO='$(GO)' PART='$(PART)' RESUME='$(RESUME)' hack/test-long.sh

lint: ## Run golangci-lint.
	$(lint) run ./...

generate: ## Generate deepcopy functions, CRDs, RBAC, templates of the charts and the API reference.
	$(tool) controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/... paths=./hosted/api/...
	$(tool) controller-gen crd paths=./api/v1alpha1/... output:crd:dir=config/crd/bases
	$(tool) controller-gen crd paths=./hosted/api/... output:crd:dir=config/hosted/crd/bases
	@hack/nullable.sh config/hosted/crd/bases/*.yaml
	$(tool) controller-gen rbac:roleName=spillway-manager paths=./controllers/... paths=./internal/... paths=./cmd/... output:rbac:dir=config/rbac
	$(GO) run ./hack/chart
	$(GO) run ./hack/dashboards
	@mkdir -p docs/reference
	$(tool) crd-ref-docs --log-level=WARN --config=hack/crd-ref-docs.yaml --renderer=markdown --source-path=api/v1alpha1 --output-path=docs/reference/api.md
	$(tool) crd-ref-docs --log-level=WARN --config=hack/crd-ref-docs.yaml --renderer=markdown --source-path=hosted/api/v1alpha1 --output-path=docs/reference/hosted.md

verify: ## Check format, lint (and vet), generated files, go.mod files and known vulnerabilities.
	@GO='$(GO)' hack/verify.sh

kube: ## Download or build real Kubernetes programs and kwok into bin/kube, once (KUBE=auto|download|build; KUBE_VERSION=v1.34.5 for another release besides).
	@GO='$(GO)' KUBE_VERSION= hack/kube/build.sh
	@$(if $(KUBE_VERSION),GO='$(GO)' KUBE_VERSION='$(KUBE_VERSION)' hack/kube/build.sh)

# What make e2e needs besides.
metrics-server:
	cd hack/kube/metrics-server && CGO_ENABLED=0 GOWORK=off $(GO) build -ldflags '-s -w' -o $(CURDIR)/bin/kube/metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server

# A CSI driver and its sidecars, each in a module of its own. They run only on a real node.
csi:
	@$(call build-csi,driver,.)
	@$(call build-csi,provisioner,github.com/kubernetes-csi/external-provisioner/v5/cmd/csi-provisioner)
	@$(call build-csi,resizer,github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer)

build-csi = cd hack/csi/$(1) && CGO_ENABLED=0 GOOS=linux GOWORK=off $(GO) build -ldflags '-s -w' -o $(CURDIR)/bin/csi/csi-$(1) $(2)

# Kueue, which runs on virtual nodes: make test-long PART=kueue.
kueue:
	cd hack/kueue && CGO_ENABLED=0 GOWORK=off $(GO) build -ldflags '-s -w' -o $(CURDIR)/bin/kueue sigs.k8s.io/kueue/cmd/kueue

# Karpenter with its provider of nodes that kwok plays: make test-long PART=karpenter.
karpenter:
	cd hack/karpenter && CGO_ENABLED=0 GOWORK=off $(GO) build -ldflags '-s -w' -o $(CURDIR)/bin/karpenter sigs.k8s.io/karpenter/kwok

demo: programs $(if $(filter kind,$(CLUSTERS)),,kube) ## Start a consumer and two providers here, and offload namespaces (STORY=spill: pods spill over and return; CLUSTERS=kind: with Docker, containers run).
	@$(if $(filter kind,$(CLUSTERS)),GO='$(GO)' hack/demo-kind.sh up,$(MAKE) --no-print-directory demo-here)

demo-here:
	@$(MAKE) --no-print-directory install-yaml DIST=bin/demo/dist
	$(GO) run ./hack/demo up
	@$(if $(STORY),$(GO) run ./hack/demo story $(STORY))

demo-down: ## Stop the demo and remove what it made (CLUSTERS=kind).
	$(if $(filter kind,$(CLUSTERS)),hack/demo-kind.sh down,$(GO) run ./hack/demo down)

demo-hosted: build kube ## Import clusters of three played clouds, and change both sides (STAY=1 to stay until Ctrl-C).
	$(GO) build -o bin/hosted-demo ./hosted/demo
	@bin/hosted-demo $(if $(STAY),-stay) # go run would make an error of Ctrl-C.

# How long the specs of make e2e may take in all.
TIMEOUT ?= 30m
e2e: ## Run the end-to-end tests on local clusters (SHORT=1 for a part that takes a minute).
	@$(MAKE) --no-print-directory build kube install-yaml $(if $(SHORT),,metrics-server csi image chart KUBE=build)
	$(GO) test -tags e2e $(if $(SHORT),-short) -count=1 -v -timeout $(TIMEOUT) ./test/e2e $(ARGS)

bench: ## Measure requests, time, CPU and memory on local clusters (SHORT=1 for 500 pods: before and after a change).
	@hack/have-tests.sh test/performance
	@$(MAKE) --no-print-directory build kube
	$(GO) test -tags bench $(if $(SHORT),-short -run 'TestPods$$') -count=1 -v -timeout 6h $(ARGS) ./test/performance

# FAST=1 runs a part that takes some minutes; PART=crash,errors only these;
# SCENARIO=name and RECIPE='…' one run, as a divergence says; REPEAT=n it so
# many times; LANES=n so many runs at a time (7); UPDATE_DOCS=1 renews
# docs/reliability.md. The overlay builds in the bugs that have to be caught; in all
# other parts they are off.
faults: ## Crash, cut and fault the manager at every write, and compare the end state (FAST=1 for a part).
	@hack/have-tests.sh test/faults
	@$(MAKE) --no-print-directory kube
	$(GO) run ./test/faults/seeded/overlay bin/faults/_seeded
	$(GO) test -tags faults,seeded -overlay bin/faults/_seeded/overlay.json -count=1 -v -timeout 24h $(ARGS) ./test/faults

# There is no release yet to upgrade from: what an older or a newer one would have is derived.
upgrade: kube ## Run the manager with older and with newer CustomResourceDefinitions, under running pods.
	$(GO) test -count=1 -v -timeout 30m ./test/integration -ginkgo.focus='An upgrade' -ginkgo.no-color $(ARGS)

# Without the SDKs of the clouds, promtool builds in three minutes.
alerts: ## Check dashboards and alerts with Prometheus' own code (UPDATE=1 to draw the dashboards anew for the docs).
	@echo "queries and panels: building Prometheus' engine takes some minutes when it is the first time"
	$(GO) test -C hack/observe . $(if $(UPDATE),-update)
	@echo "alerts: building promtool takes some minutes when it is the first time"
	cd hack/observe && GOFLAGS='$(GOFLAGS) -tags=remove_all_sd' $(GO) tool promtool test rules testdata/rules_test.yaml

docs: ## Build the documentation as a site into bin/site, and check its links.
	@echo "site: building Hugo takes some minutes when it is the first time"
	$(GO) tool -modfile=go.hugo.mod hugo --source hack/site --destination $(CURDIR)/bin/site --cleanDestinationDir --noBuildLock --logLevel warn
	$(GO) run ./hack/site bin/site .
	@echo "wrote bin/site: open bin/site/index.html"

# A version is as Helm wants it: 1.2.3.
CHART_VERSION ?= 0.0.0
chart: ## Check both Helm charts, and write them to dist/, for IMAGE.
	$(helm) lint --strict --quiet --namespace spillway-provider charts/spillway charts/spillway-provider
	@mkdir -p $(DIST)
	@rm -rf bin/charts && mkdir -p bin/charts && cp -R charts/spillway charts/spillway-provider bin/charts/
	@sed -i.old 's|repository: ghcr.io/spillway-io/spillway$$|repository: $(patsubst %:$(lastword $(subst :, ,$(IMAGE))),%,$(IMAGE))|' bin/charts/spillway/values.yaml && rm bin/charts/spillway/values.yaml.old
	$(helm) package --destination $(DIST) --version $(CHART_VERSION) --app-version $(lastword $(subst :, ,$(IMAGE))) bin/charts/spillway bin/charts/spillway-provider
	@$(helm) template spillway $(DIST)/spillway-$(CHART_VERSION).tgz --namespace spillway-system | grep -F ' image: $(IMAGE)' >/dev/null || { echo "chart: its manager does not run $(IMAGE)" >&2; exit 1; }

# For ctr images import, kind load image-archive or crane push. GOARCH=arm64 for another
# architecture.
image: ## Write dist/spillway.tar and dist/spillway-hosted.tar, container images, without Docker.
	@mkdir -p bin/image $(DIST)
	CGO_ENABLED=0 GOOS=linux $(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/image/ ./cmd/manager ./hosted/cmd/hosted
	@$(call write-image,manager,$(IMAGE),spillway.tar)
	@$(call write-image,hosted,$(HOSTED_IMAGE),spillway-hosted.tar)

# Before make 4.4, $(shell) does not see a GOARCH of the command line.
write-image = GOOS= GOARCH= $(GO) run -C hack/image . -program $(CURDIR)/bin/image/$(1) -image $(2) -version $(VERSION) \
	-arch $(or $(GOARCH),$(shell $(GO) env GOARCH)) -out $(abspath $(DIST))/$(3) && echo "wrote $(DIST)/$(3)"

# What it would publish: PUBLISH=1 does it, with a tag on this commit and credentials (docs/releasing.md).
# It counts only on make's command line: a variable of the environment publishes nothing.
release-snapshot: ## Make all of a release into bin/release and bin/release-extra, and send nothing.
	@GO='$(GO)' PUBLISH='$(if $(findstring command line,$(origin PUBLISH)),$(PUBLISH))' hack/release.sh

install-yaml: ## Write dist/install.yaml, -shard, -webhook, hosted.yaml (consumer), provider.yaml, -trusted (providers).
	@mkdir -p $(DIST)
	@DIST='$(DIST)' IMAGE='$(IMAGE)' HOSTED_IMAGE='$(HOSTED_IMAGE)' KUSTOMIZE='$(tool) kustomize' hack/install-yaml.sh
