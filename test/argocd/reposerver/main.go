// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command reposerver is the repo-server of Argo CD, as its release runs it. When
// it is called by the name argocd it is the helper that the repo-server has Git
// ask for credentials, which are the two roles of Argo CD's own binary that are
// needed here.
//
// Callers: the tests in the folder above, which build it.
package main

import (
	"os"
	"path/filepath"

	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
)

func main() {
	command := reposerver.NewCommand()
	if filepath.Base(os.Args[0]) == "argocd" {
		command = askpass.NewCommand()
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}
