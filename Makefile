# Copyright 2026 The Ropewalk Authors
# SPDX-License-Identifier: Apache-2.0

# Everything that a maintainer runs. `make run` and `make test` need Go and
# nothing else; the tools of `lint` are built from test/tools.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO      ?= go
BIN     := $(CURDIR)/.bin
OUT     ?= out/shop
LDFLAGS := -s -w
SOURCES := $(shell find artifact cmd cue deploy internal plugin render source -name '*.go' -o -name '*.cue' -o -name '*.json' -o -name '*.yaml' 2>/dev/null) go.mod go.sum

export CGO_ENABLED = 0
# With -trimpath the programs and the tests share what they compile.
export GOFLAGS += -trimpath

# What runs tests: the gate puts gotestsum here, which sums up what failed.
TEST ?= $(GO) test

.PHONY: help
help: ## Show what can be made.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: $(BIN)/ropewalk $(BIN)/ropewalk-components ## Build the command, and what builds kustomizations and charts for it, into .bin.

# Apart from the command, because its Kubernetes client takes a minute to compile.
.PHONY: controller
controller: $(BIN)/ropewalk-controller ## Build the controller for Flux into .bin.

$(BIN)/ropewalk $(BIN)/ropewalk-components $(BIN)/ropewalk-controller: $(SOURCES)
	@mkdir -p $(BIN)
	$(GO) build -trimpath -buildvcs=auto -tags grpcnotrace,kustomize_disable_go_plugin_support -ldflags '$(LDFLAGS)' -o $@ ./cmd/$(@F)

.PHONY: run
run: build ## Render the example shop into out/shop and an image layout, and print its waves.
	$(BIN)/ropewalk render cue/examples/shop --dialect argocd -o $(OUT)
	@echo
	$(BIN)/ropewalk build cue/examples/shop --dialect argocd --to oci-layout:$(OUT)-oci
	@echo
	@echo "what is in it: $(BIN)/ropewalk artifact inspect oci-layout:$(OUT)-oci"
	@$(BIN)/ropewalk artifact inspect oci-layout:$(OUT)-oci | head -n 8

.PHONY: test
test: servers build $(BIN)/cue ## Run every test of the main module.
	ROPEWALK_BIN=$(BIN)/ropewalk $(TEST) -timeout 30m $(TESTFLAGS) ./...

.PHONY: quick
quick: $(BIN)/golangci-lint ## In a minute: format, lint and test what differs from origin/main, and what imports it.
	GO=$(GO) LINT=$(BIN)/golangci-lint test/quick

# Generated code does not count, nor does what only tests import. A pivot that is wrong loses
# clusters, so that it has a bound of its own.
COVERAGE := 80
COVERAGE_PIVOT := 90
.PHONY: cover
cover: TESTFLAGS = -coverprofile=$(BIN)/coverage.out -coverpkg=./artifact/...,./cmd/...,./cue/...,./internal/...,./plugin/...,./render/...,./source/...
cover: test ## Run every test and fail below $(COVERAGE) % of covered statements, or $(COVERAGE_PIVOT) % of plugin/pivot.
	grep -vE '\.pb\.go:|zz_generated|/planetest/' $(BIN)/coverage.out >$(BIN)/product.out
	grep -E '^mode:|/plugin/pivot/' $(BIN)/product.out >$(BIN)/pivot.out
	@for of in product=$(COVERAGE) pivot=$(COVERAGE_PIVOT); do \
	  $(GO) tool cover -func $(BIN)/$${of%=*}.out | awk -v of=$${of%=*} -v least=$${of#*=} '/^total:/ { print "coverage of " of " " $$3; if ($$3 + 0 < least) { print "want at least " least " %" >"/dev/stderr"; exit 1 } }'; done

# Tests that need one of these are skipped where it is missing, unless
# ROPEWALK_SERVERS=required is set.
.PHONY: servers
servers: ## Install the servers that tests run (Debian packages), where that is possible.
	@missing=; for pair in docker-registry:docker-registry sshd:openssh-server git:git ssh:openssh-client gpg:gpg redis-server:redis-server curl:curl jq:jq; do \
	  PATH="$$PATH:/usr/sbin" command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing, for the tests:$$missing" >&2; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "not installed, so that some tests are skipped:$$missing" >&2; fi

.PHONY: generate
generate: api goldens ## Regenerate what is generated, goldens too.
	gofmt -w $$(git ls-files '*.go')

# Tests compare with the goldens, so that verify need not write them.
.PHONY: goldens
goldens: ## Regenerate the expected outputs of tests.
	ROPEWALK_UPDATE=1 $(GO) -C test/kustomize test -count=1 -run 'Installed|Added' . >/dev/null
	ROPEWALK_UPDATE=1 $(GO) -C test/helm test -count=1 -run Rendered . >/dev/null
	ROPEWALK_UPDATE=1 $(GO) -C test/applicationset test -count=1 . >/dev/null
	ROPEWALK_UPDATE=1 $(GO) test ./cue/... ./cmd/... ./plugin/pivot/internal/link/wire ./render/... ./test/deploy/... >/dev/null

# Of the types in plugin/api: deepcopy, the definition and the reference. A chart can
# read nothing outside of its folder, so that it has copies. test/helm and test/kustomize
# write what test/deploy reads.
.PHONY: api
api: $(BIN)/controller-gen ## Regenerate what follows from the types of the API and from the protocols of plugins and of the link.
	$(BIN)/controller-gen object:headerFile=test/tools/licence.go.txt crd:headerFile=test/tools/licence.yaml.txt \
	  paths=./plugin/api/... output:crd:dir=deploy/crds
	cp deploy/crds/ropewalk.dev_*.yaml deploy/chart/crds/
	cp deploy/pivot/controller/rbac.yaml deploy/chart/files/pivot-rbac.yaml
	cp deploy/flux/servicemonitor/alerts.yaml deploy/flux/servicemonitor/dashboard*.json deploy/chart/files/
	$(GO) -C test/tools run ./reference $(CURDIR)/deploy/crds/ropewalk.dev_transforms.yaml >deploy/flux/reference.md.new
	mv deploy/flux/reference.md.new deploy/flux/reference.md
	$(GO) -C test/tools run ./reference $(CURDIR)/deploy/crds/ropewalk.dev_pivotclusters.yaml >deploy/pivot/reference.md.new
	mv deploy/pivot/reference.md.new deploy/pivot/reference.md
	$(GO) -C test/tools run ./protogen $(CURDIR)/plugin/argocd/wire
	$(GO) -C test/tools run ./protogen $(CURDIR)/plugin/pivot/internal/link/wire

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters.
	$(BIN)/golangci-lint run --build-tags=builds ./...

# It writes go.mod where a requirement of the module in this folder overtakes one of
# a module under test/, which verify then finds, and fails where a go.sum lacks a package
# (then run go mod tidy there). That of the validators is large, requires
# nothing of the product, and is used at night only.
.PHONY: modules
modules: ## Download the Go modules of the product and of what is under test/.
	for module in $$(git ls-files 'go.mod' '*/go.mod' ':!test/validators'); do $(GO) -C $$(dirname $$module) mod download && \
	  $(GO) -C $$(dirname $$module) list -deps -test ./... >/dev/null || exit 1; done

.PHONY: verify
verify: modules lint api ## Lint, regenerate code, and want a clean tree; stale goldens fail their tests.
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not formatted: run make generate' >&2; exit 1; }
	@git diff --exit-code || { echo 'generated files are stale: commit what make generate wrote' >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { git status --short; echo 'the tree is not clean' >&2; exit 1; }

.PHONY: bench
bench: build $(BIN)/cue ## Run the benchmarks; ratios are against cue export, and against kustomize.
	$(GO) -C test/kustomize build -o $(BIN)/kustomize sigs.k8s.io/kustomize/kustomize/v5
	ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CUE=$(BIN)/cue ROPEWALK_KUSTOMIZE=$(BIN)/kustomize $(GO) test -run '^$$' -bench . -benchmem -benchtime 1s -timeout 60m \
	  ./artifact/... ./cue/... ./plugin/... ./render/... ./source/... ./test/bench/...
	$(GO) -C test/peers test -run '^$$' -bench . -benchtime 20x ./...
	ROPEWALK_AGENTS=2000 ROPEWALK_DOWN=60s $(GO) test -run '^TestIdleAgentsOfOneParent$$' -v -count=1 -timeout 30m ./plugin/pivot/internal/link
	$(MAKE) bench-argocd
	$(MAKE) bench-flux

# The stock server of plugins is built by the first run, as the repo-server is.
.PHONY: bench-argocd
bench-argocd: build $(BIN)/cue ## Compare the sidecar with the stock plugin server, and let it keep to its memory over 20,000 requests.
	for of in 'Small|Large 20x' 'Memory|Applications 1x'; do \
	  ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CUE=$(BIN)/cue $(GO) -C test/argocd test -run '^$$' -bench "$${of% *}" -benchtime "$${of#* }" -timeout 60m .; done
	ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_MEMORY_REQUESTS=20000 $(GO) test -run '^TestTheServerKeepsToItsMemory$$' -v -count=1 -timeout 60m ./plugin/argocd

# The cluster is that of e2e-cluster. Nothing else may run beside it on two cores.
.PHONY: bench-flux
bench-flux: servers build controller ## Hold the controller for Flux to its speed: revisions, chains of layers, a thousand Transforms.
	$(GO) -C test/e2e run ./programs/install
	ROPEWALK_SPEED=1 ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller $(GO) -C test/e2e test -v -count=1 -timeout 60m \
	  -run '^(TestANewRevisionIsPublishedAndApplied|TestAChainOfFiveLayersIsReadyFast|TestAPlainChainOfKustomizationsIsSlow|TestAThousandTransforms|TestManyTransformsAreDelivered|TestOnlyTheLayerThatChangedIsWritten|TestHealthChecksComeWithTheirArtifact)$$' .

# Each number has a cluster of its own. Nothing may run beside it on two cores: 1,000 take a quarter
# of an hour there, and 10,000 two hours. A stage that passes its limit fails with what is missing.
SCALE := 100,1000,10000
comma := ,
.PHONY: scale
scale: servers build controller ## Measure as many Transforms as SCALE says, such as 100,1000,10000, in four shards: table and picture in out/scale, and what moves between shards.
	$(MAKE) programs
	@mkdir -p out/scale
	ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller $(GO) -C test/e2e test -v -count=1 -timeout 10m -run '^TestEachControllerHasTheTransformsOfItsShard$$' .
	for n in $(subst $(comma), ,$(SCALE)); do \
	  ROPEWALK_SCALE=$$n ROPEWALK_SCALE_DIR=$(CURDIR)/out/scale ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller $(GO) -C test/e2e test -v -count=1 -timeout 12h -run '^TestTransformsOfFourShards$$' . || exit 1; done

# Programs are built by the first run and kept, as those of e2e-cluster are. The whole kill matrix
# takes more than an hour on two cores: KILLS=1/4 is the first of four parts of it.
.PHONY: pivot
pivot: servers build controller ## Move real Cluster API between two management clusters: all faults and the whole kill matrix; make a cluster and destroy its parent.
	$(MAKE) programs
	ROPEWALK_FAULTS=1 ROPEWALK_KILLS=$(KILLS) ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller $(GO) -C test/pivot test -v -count=1 -timeout 240m .

# flow runs tests of a module under test/ under a name, those that flags select. Unlike make pivot
# and the benchmarks, it runs one that fails once more.
flow = ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller test/flow $(1) $(2) -test.timeout 60m $(3)

FLOWS_OF = $(BIN)/argocd.test $(BIN)/e2e.test $(BIN)/pivot.test
$(FLOWS_OF): $(SOURCES) $(shell find test -name '*.go' -o -name 'go.*' -path '*/test/*') | $(BIN)/gotestsum
	$(GO) -C test/$(basename $(@F)) test -c -o $@ .

PIVOT_CHILD := TestAParentMakesAClusterThatBecomesItsOwnAndOutlivesIt

# They need root, for network namespaces.
PIVOT_NETWORK := TestTheLinkIsCutAtEveryStep|TestProcessesAreKilledAtEveryStepOverTheLink|TestASlowLink|TestFaultsOfTheLink

PIVOT_LONG := ^(TestAChildWithArgoCDBecomesItsOwnAndOutlivesItsParent|TestClusterctlIsStuckAfterAKill|TestTwoThousandObjectsOfTenMebibytes|TestOneOfTwoClustersOfANamespaceMoves|TestAClusterBecomesAvailable|TestARolloutInProgress|TestAStagedChunkThatIsDamaged|TestClusterctlMoves|$(PIVOT_CHILD)|TestAChildHasAChildOfItsOwnThatOutlivesBoth|TestAClusterIsDeletedAsTheGuideSays|TestABootstrapClusterInstallsTheFirstManagementCluster|TestALeaderThatIsKilled|TestALeaderThatIsStopped|TestARenderedClusterBecomesAvailableAndFollowsEdits)$$
PIVOT_FLOWS = -test.skip '$(PIVOT_LONG)|^($(PIVOT_NETWORK))$$'
ifeq ($(FLOWS),gate)
PIVOT_FLOWS = -test.run '^($(GATE_PIVOT))$$'
endif
GATE_PIVOT := TestAKillAtAnyWriteConverges|TestAClusterMovesAndTheTargetAloneManagesIt|TestTheNamespaceOfTheTargetIsDeletedBeforeTheCommit|TestATakeoverAfterTheSourceIsLost|TestWhatStandsInTheWayIsNamedAndNothingIsTouched|TestAPlanNames.*|TestTheAuditorSeesEveryViolation|TestTheProxy.*
.PHONY: e2e-pivot
e2e-pivot: build programs $(BIN)/pivot.test ## Run the part of make pivot that takes minutes: some kills of each step, and no long tests.
	$(call flow,pivot,pivot,$(PIVOT_FLOWS))

.PHONY: e2e-child
e2e-child: build controller programs $(BIN)/pivot.test ## Make a cluster of a PivotCluster in Git, let it take itself over, and destroy its parent.
	$(call flow,pivot,child,-test.run '^($(PIVOT_CHILD))$$')

.PHONY: e2e
e2e: oracle peers kustomize helm units site image argocd e2e-cluster e2e-pivot e2e-child ## Run what takes long: the check against Kubernetes itself, peers, kustomize, Helm, Flux, the site, the image's programs, Argo CD, clusters, a pivot, a child.

.PHONY: pages
pages: site ## Open the page of a preview in Chromium (a Debian package): hostile names, 5,000 changes, keys, paper; that of a graph; search in the site.
	@command -v chromium >/dev/null || (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null)
	ROPEWALK_BROWSER=required ROPEWALK_SITE=$(CURDIR)/out/site $(GO) test -v -count=1 -run 'Page' ./cmd/ropewalk/internal/preview ./cmd/ropewalk/internal/draw ./test/browser

# It needs a compiler of C.
.PHONY: race
race: ## Look for data races in what renders, what serves and what reconciles.
	CGO_ENABLED=1 GOFLAGS= $(GO) test -race -count=1 -timeout 60m ./cmd/... ./plugin/... ./render/... ./source/...

.PHONY: nightly
nightly: validators canaries pages race e2e-faults pivot fips fuzz soak release-test release-upgrade bench ## Run what takes hours: the validation code of controllers, ten thousand workloads with secrets, pages in a browser, data races, long faults, pivots killed at every write, validated cryptography, fuzzing, the soak, a release, benchmarks.

# How long the soak takes; each attack once takes ROPEWALK_SOAK=each.
SOAK := 60m
.PHONY: soak
soak: build ## Run the sidecar beside a tenant that attacks it in a new way every minute.
	ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_SOAK=$(SOAK) $(GO) test -run '^TestASidecarServesOthersBesideAnAttack$$' -v -count=1 -timeout 3h ./test/soak

.PHONY: image
image: ## Build both programs as the image does, and look at their versions.
	$(TEST) -tags=builds -run '^TestTheImageKnowsItsVersion$$' ./test/deploy

# PLATFORMS is a list such as linux/amd64,darwin/arm64; all where it is empty. RELEASE_KEY is the
# file of a private key, whose password is in COSIGN_PASSWORD. MIRROR is where Debian packages come
# from, such as https://deb.debian.org; that of apt where it is empty.
.PHONY: release
release: ## Write what a release is into out/release: make release VERSION=v0.1.0 [PLATFORMS=…] [RELEASE_KEY=FILE].
	$(GO) -C test/tools/release run . -version '$(VERSION)' -out '$(CURDIR)/out/release' -platforms '$(PLATFORMS)' -key '$(abspath $(RELEASE_KEY))' -mirror '$(MIRROR)'

.PHONY: release-lock
release-lock: ## Pin the newest Debian packages for the image of a release (needs apt).
	$(GO) -C test/tools/release run . -lock debian.lock -mirror '$(MIRROR)'

.PHONY: release-test
release-test: ## Write a release for linux/amd64 twice, and use what is in it as the documentation says (on linux/amd64, as root).
	cd test/tools/release && $(TEST) -count=1 -timeout 30m .

.PHONY: release-upgrade
release-upgrade: programs ## Write two releases for linux/amd64, and upgrade the chart of one to that of the next beside what it renders.
	for v in v0.1.0 v0.1.1; do $(GO) -C test/tools/release run . -version $$v -out '$(CURDIR)/out/releases/'$$v -platforms linux/amd64 -mirror '$(MIRROR)' || exit 1; done
	ROPEWALK_RELEASES='$(CURDIR)/out/releases/v0.1.0:$(CURDIR)/out/releases/v0.1.1' $(GO) -C test/e2e test -v -count=1 -timeout 20m -run '^TestAnUpgradeToTheNextReleaseMakesNothingAgain$$' .

.PHONY: canaries
canaries: build ## Look for secrets in all that ten thousand generated workloads leave behind, and ten thousand mistakes.
	ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CANARIES=10000 $(GO) test -timeout 30m ./test/canary
	ROPEWALK_CANARIES=10000 $(GO) test -timeout 60m -run ShowsNoRejectedSecret ./plugin/argocd ./plugin/flux ./plugin/krm

.PHONY: kustomize
kustomize: ## Let the real kustomize run the render as a function.
	cd test/kustomize && $(TEST) ./...

# The generator is built by the first run, for minutes, and kept in the build cache.
.PHONY: site
site: ## Write the documentation as a site into out/site, and follow its links.
	cd test/site && $(TEST) -count=1 .
	$(GO) -C test/site tool hugo --quiet --source $(CURDIR)/docs/site --destination $(CURDIR)/out/site --cleanDestinationDir --noBuildLock
	@echo "open out/site/index.html"

.PHONY: helm
helm: ## Let Helm itself render the chart of the controller.
	cd test/helm && $(TEST) ./...

.PHONY: units
units: build ## Hold what is rendered of a repository of Flux or Argo CD against the libraries of both (builds for minutes).
	cd test/flux && ROPEWALK_BIN=$(BIN)/ropewalk $(TEST) ./...
	cd test/applicationset && $(TEST) -count=1 ./...

# The repo-server is built by the first run, for minutes, and kept in the user's
# cache directory.
.PHONY: argocd
argocd: servers build $(BIN)/argocd.test ## Let the real repo-server of Argo CD render by the sidecar.
	$(call flow,argocd,argocd)

# The programs of a cluster are built by the first run, for a quarter of an hour, and kept as the
# repo-server is. That is a step of its own with its own progress, so that the time
# limit is that of the tests.
.PHONY: programs
programs: ## Build the programs of the clusters of tests, which are kept in the user's cache directory.
	$(GO) -C test/e2e run ./programs/install

# The tests of a cluster wait more than they compute, so that one half runs
# beside the other half, each in a cluster of its own. FLOWS=gate runs some of each kind:
# order, update, hand-over, kills, windows, rollback and what layers wait for with Flux, waves, the plugin and
# prune for Argo CD.
E2E_HALF := ArgoCD|Application|Cluster|Killed|Registry|Thousand|Server
CLUSTER_1 = -test.skip '$(E2E_HALF)'
CLUSTER_2 = -test.run '$(E2E_HALF)'
ifeq ($(FLOWS),gate)
CLUSTER_1 = -test.run '^($(GATE_1))$$'
CLUSTER_2 = -test.run '^($(GATE_2))$$'
endif
GATE_1 := TestTheTutorialGoesAsItSays|TestWhatMovesToAnotherLayerStaysTheSameObject|TestATransformIsDeliveredChangedRolledBackAndDeleted|TestAnObjectMovesBetweenTransforms|TestATenantActsAsItsAccountAndNobodyElse|TestEveryStateIsOneOfKstatus|TestNoNameLeadsElsewhere|TestTheControllerRendersAsTheCommandLineDoes|TestAnAPIServerTakesTheInstallationAndItsExamples|TestWavesAreNoMoreThanReadinessAsksFor|TestObjectsAreTakenByNameAndByLabel|TestALayerWaitsForWhatOthersMake|TestWhatAnAccountMayNotApplyIsNotPublished|TestARevisionWaitsForItsWindow
GATE_2 := TestLayersAreDeletedTheLastFirst|TestTheNextReplicaGoesOnWhereTheLastOneWasKilled|TestArgoCDAppliesTheShopWaveByWave|TestArgoCDRendersByThePlugin|TestArgoCDAppliesWhatTheControllerPushes|TestAnApplicationMayGoAndLeaveItsObjects|TestAReleaseIsBuiltSyncedAndDeployedByFluxAndArgoCD|TestHelmInstallsWhatTheTutorialNeeds|TestAnArtifactThatIsNotReadyInTimeIsTakenBack|TestAnApplicationThatIsNotHealthyInTimeGoesBack|TestObjectsThatAreNotReadyAreReadOnRequest
.PHONY: e2e-cluster
e2e-cluster: servers build controller programs $(BIN)/e2e.test ## Let the real Flux and Argo CD apply what is rendered to a real API server.
	cd test/e2e && $(TEST) -count=1 ./plane ./programs
	$(call flow,e2e,cluster-1,$(CLUSTER_1)) >$(BIN)/cluster-1.log 2>&1 & other=$$!; failed=0; \
	$(call flow,e2e,cluster-2,$(CLUSTER_2)) || failed=1; wait $$other || failed=1; cat $(BIN)/cluster-1.log; exit $$failed

.PHONY: e2e-faults
e2e-faults: servers build controller ## Run the faults that take minutes: 50,000 objects, a hostile module beside a hundred good ones, a registry that fails at random, an API server that restarts.
	ROPEWALK_FAULTS=1 $(GO) test -v -count=1 -timeout 20m -run '^TestAPublishIsKilledAtEveryRequest$$' ./cmd/ropewalk/internal/cli
	$(GO) -C test/e2e run ./programs/install
	ROPEWALK_FAULTS=1 ROPEWALK_BIN=$(BIN)/ropewalk ROPEWALK_CONTROLLER_BIN=$(BIN)/ropewalk-controller $(GO) -C test/e2e test -v -count=1 -timeout 60m \
	  -run '^(TestFiftyThousandObjects|TestAHostileModule|TestWhatTheFlagsAsShipped|TestARegistryThatFailsAtRandom|TestAnAPIServerThatIsRestarted|TestANamespaceThatIsDeleted|TestManyTransformsAreRendered|TestALayerOfManyObjects|TestObjectsThatMoveWhileTheControllerIsKilled)' .

.PHONY: peers
peers: ## Compare with the libraries of others: sigstore-go, oras, crane.
	cd test/peers && $(TEST) ./...

.PHONY: oracle
oracle: ## Compare the check with the validation of Kubernetes itself (builds for minutes).
	cd test/oracle && $(TEST) ./...

# It compiles for a dozen minutes where nothing is cached, most of it Envoy Gateway and the clients of
# KEDA's scalers.
.PHONY: validators
validators: build ## Hand what is rendered to the validation code of KEDA, cert-manager, Traefik, Envoy Gateway, Cilium and Knative, and to oauth2-proxy.
	ROPEWALK_BIN=$(BIN)/ropewalk $(GO) -C test/validators test -count=1 -timeout 30m ./...
	ROPEWALK_BIN=$(BIN)/ropewalk $(GO) -C test/validators/oauth2proxy test -count=1 ./...

# The tests are built with the module that has a certificate, and may use nothing that it does
# not approve. One part of one test cannot: OpenPGP names keys by SHA-1, see deploy/pivot/fips.md.
# The second half builds the controller as the Dockerfile does.
.PHONY: fips
fips: servers build ## Run the tests of the plugins with the validated cryptographic module alone, and look at a controller that is built with it.
	GOFIPS140=certified ROPEWALK_BIN=$(BIN)/ropewalk $(GO) test -exec 'env GODEBUG=fips140=only' -timeout 60m -skip '^TestAPolicyWantsCommitsSignedAtAServerThatWantsALogin$$/^pgp$$' ./plugin/... ./cmd/ropewalk-controller/...
	$(GO) test -tags=builds -v -count=1 -timeout 20m -run '^TestAControllerOfTheValidatedModule$$' ./test/deploy

# Each row is a test that passes. A failure prints what the tests print.
.PHONY: security
security: ## Print what the registration, the link and the agent refuse: attempt, result, line of the log.
	@mkdir -p $(BIN)
	@$(GO) test -v -count=1 -timeout 10m -run '^(TestRefusals|TestHandshakes.*|TestAClientOfChaCha20IsRefused|TestAttemptsOnTheLink|TestWhatAnAgentAccepts|TestABootstrapThatIsRefused.*|TestAfterThePivotABootstrap.*|TestAClusterInChargeOfItself.*|TestARequestThatComesWithAnotherIdentity.*)$$' \
	  ./plugin/pivot/internal/enrol ./plugin/pivot/internal/link ./plugin/pivot/agent >$(BIN)/security.log || { cat $(BIN)/security.log; exit 1; }
	@printf '| at | attempt | result | log |\n|---|---|---|---|\n'; sed -nE 's/^ +[a-z_]+_test\.go:[0-9]+: (\| .*)/\1/p' $(BIN)/security.log | sort

.PHONY: fuzz
fuzz: ## Fuzz every trust edge for ten seconds each.
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$target/*_test.go | cut -d' ' -f2); do \
	    echo "$$target $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 10s $$target; done; done

golangci-lint.package  = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
cue.package            = cuelang.org/go/cmd/cue
gotestsum.package      = gotest.tools/gotestsum
controller-gen.package = sigs.k8s.io/controller-tools/cmd/controller-gen

$(BIN)/golangci-lint $(BIN)/cue $(BIN)/controller-gen $(BIN)/gotestsum: test/tools/go.mod test/tools/go.sum
	@mkdir -p $(BIN)
	$(GO) -C test/tools build -o $(BIN)/ $($(@F).package)

.PHONY: clean
clean: ## Remove what was built and rendered.
	rm -rf $(BIN) out
