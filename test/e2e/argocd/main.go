// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command argocd is three programs of Argo CD, as its release runs them: the
// application-controller, the repo-server, and the helper that the repo-server
// has Git ask for credentials. The name that it is called by says which, as in
// the binary of Argo CD itself, whose other nine roles nothing here needs.
//
// Callers: the tests in the folder above, which build it.
package main

import (
	"os"
	"path/filepath"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	var command *cobra.Command
	switch filepath.Base(os.Args[0]) {
	case "argocd-application-controller":
		command = controller.NewCommand()
	case "argocd-repo-server":
		command = reposerver.NewCommand()
	default:
		command = askpass.NewCommand()
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}
