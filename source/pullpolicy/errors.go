// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import "errors"

// ErrRefused says that a policy does not allow a source.
var ErrRefused = errors.New("refused by the pull policy")

// ErrPolicy says that a text is not a policy.
var ErrPolicy = errors.New("bad pull policy")
