// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command ropewalk-components builds kustomizations and Helm charts for ropewalk and
// ropewalk-controller, which start it: users have no need to.
package main

import (
	"os"
	_ "time/tzdata" // Time zones of templates must not depend on the machine.

	"github.com/ropewalk/ropewalk/cmd/ropewalk-components/internal/components"
)

func main() { os.Exit(components.Main()) }
