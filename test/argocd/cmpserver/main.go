// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command cmpserver is the argocd-cmp-server of Argo CD, as its release runs it:
// the stock server of plugins, which unpacks a repository to files and runs a
// command in them.
//
// Callers: the benchmarks in the folder above, which build it.
package main

import (
	"os"

	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
)

func main() {
	if cmpserver.NewCommand().Execute() != nil {
		os.Exit(1)
	}
}
