// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/emit"
)

func unknownDialect(d emit.Dialect) error {
	return fmt.Errorf("unknown dialect %q: expected plain, argocd or flux", string(d))
}
