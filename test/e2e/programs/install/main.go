// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command install builds the programs of the cluster that are not there yet, and says
// how far it is. It runs in the folder of package e2e.
//
// Callers: make e2e-cluster, so that the time that it gives its tests is theirs alone.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ropewalk/ropewalk/test/e2e/programs"
)

func main() {
	if err := (programs.Modules{Root: ".", Log: os.Stderr}).InstallAll(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}
