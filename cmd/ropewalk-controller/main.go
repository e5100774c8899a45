// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command ropewalk-controller renders the Transforms of a cluster, publishes what
// they give, and has Flux or Argo CD apply it in order.
package main

import (
	"os"
	_ "time/tzdata" // Time zones of windows must not depend on the machine.

	"github.com/ropewalk/ropewalk/cmd/ropewalk-controller/internal/controller"
)

func main() { os.Exit(controller.Main()) }
