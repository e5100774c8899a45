// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"io"

	"github.com/ropewalk/ropewalk/render/order"
)

// JSON writes a plan as an [order.Document], indented by two spaces.
func JSON(w io.Writer, plan *order.Plan) error {
	data, err := plan.Document().JSON()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
