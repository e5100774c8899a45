// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import "errors"

// ErrGone is wrapped by the error of [Artifacts] for an artifact that is not there
// any more.
var ErrGone = errors.New("the artifact is gone")

// errElsewhere is that nobody but Flux can look where objects with adopt Never are to go.
var errElsewhere = errors.New("adopt: Never cannot be held to in the cluster of spec.delivery.flux.kubeConfig, where only Flux can look: say TakeOwnership")
