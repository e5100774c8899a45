// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package provisioners has the commands that list, describe and try the provisioners
// of a project.
//
// Tested by cmd/ropewalk/internal/cli.
package provisioners
