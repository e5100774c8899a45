// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command ropewalk turns specs into manifests that a GitOps engine can apply
// as they are.
package main

import (
	"os"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli"
	_ "github.com/ropewalk/ropewalk/cmd/ropewalk/internal/collector"
)

func main() { os.Exit(cli.Main()) }
