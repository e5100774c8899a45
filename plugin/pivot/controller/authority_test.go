// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestANewCellComesFirstAndReplacesItsOwnAddress(t *testing.T) {
	a := v1alpha1.Cell{Host: "a.test", Port: 1, LinkPort: 2, ServiceType: "ClusterIP"}
	b := v1alpha1.Cell{Host: "b.test", Port: 1, LinkPort: 2}
	require.Equal(t, []v1alpha1.Cell{a}, addCell(nil, a))
	require.Equal(t, []v1alpha1.Cell{b, a}, addCell([]v1alpha1.Cell{a}, b))
	again := a
	again.ServiceType = "LoadBalancer"
	require.Equal(t, []v1alpha1.Cell{again, b}, addCell([]v1alpha1.Cell{b, a}, again))
}
