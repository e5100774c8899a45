// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component/helm"
)

func TestARandomTextIsReportedWhereItIsCalled(t *testing.T) {
	first := "{{- $unused := randAlphaNum 4 }}\n" + template("{{ now | date \"2006\" | len }}")
	later := strings.ReplaceAll(template("{{ randAlphaNum 9 }}"), "name: x", "name: first") + "---\n" + strings.ReplaceAll(template("{{ randAlphaNum 7 }}"), "name: x", "name: other")
	_, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, map[string]string{"shop/templates/a.yaml": first, "shop/templates/x.yaml": later}), ""))
	const hint = " (set the value that the chart takes in its place, or switch off what needs it)"
	require.EqualError(t, err, "shop/templates/x.yaml:5:9: evaluate: results of now, randAlphaNum differ in each render, and so does data.x of ConfigMap \"first\""+hint+
		"\nshop/templates/x.yaml:11:9: evaluate: results of now, randAlphaNum differ in each render, and so does data.x of ConfigMap \"other\""+hint)
}
