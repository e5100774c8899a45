# Copyright 2026 The Ropewalk Authors
# SPDX-License-Identifier: Apache-2.0

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The sources come without .git, so that nothing but these tells which they are.
# Without REVISION, a commit, no finished render is kept on disk: builds that cannot be
# told apart would read one another's.
ARG VERSION REVISION
# certified builds with the validated cryptographic module: see deploy/pivot/fips.md.
ARG GOFIPS140=off
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace,kustomize_disable_go_plugin_support -ldflags "-s -w \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedVersion=${VERSION} \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedRevision=${REVISION}" -o /ropewalk ./cmd/ropewalk
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace,kustomize_disable_go_plugin_support -ldflags "-s -w \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedVersion=${VERSION} \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedRevision=${REVISION}" -o /ropewalk-components ./cmd/ropewalk-components
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace,kustomize_disable_go_plugin_support -ldflags "-s -w \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedVersion=${VERSION} \
    -X github.com/ropewalk/ropewalk/cmd/internal/process.linkedRevision=${REVISION}" -o /ropewalk-controller ./cmd/ropewalk-controller

# Git repositories are fetched with git and ssh. ssh refuses a user without an entry
# in /etc/passwd: 999 is that of the sidecar of Argo CD. The image of a release, by
# test/tools/release, has the same packages and the same configuration.
FROM debian:trixie-slim
ARG VERSION REVISION
LABEL org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${REVISION}
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git openssh-client && rm -rf /var/lib/apt/lists/* && \
    printf '%s:x:%s:%s::/tmp:/usr/sbin/nologin\n' ropewalk 65532 65532 argocd 999 999 >> /etc/passwd
COPY --from=build /ropewalk /ropewalk-components /ropewalk-controller /usr/local/bin/
# Others start it by its name: plugin.yaml of the stock argocd-cmp-server does.
ENV PATH=/usr/local/bin:/usr/bin:/bin
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/ropewalk"]
