// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import "errors"

// ErrGone is wrapped by the error of [Artifacts] for an artifact that does not exist any more.
var ErrGone = errors.New("the artifact is gone")
