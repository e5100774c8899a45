// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change request takes 65,536 characters, however many references and environments there are.
func TestMarkdownFitsAChangeRequest(t *testing.T) {
	var u Upgrades
	for i := range 2000 {
		u.Upgrades = append(u.Upgrades, Upgrade{Ref: fmt.Sprintf("oci://registry.example/module-%d", i), From: "1.0.0", To: "1.1.0"})
		u.Environments = append(u.Environments, environment{Name: fmt.Sprintf("cluster-%d", i), Errors: []string{fmt.Sprintf("mistake %d", i)}})
	}
	text := u.markdown()
	require.LessOrEqual(t, len(text), markdownLimit)
	require.Contains(t, text, "module-0 ")
	require.Regexp(t, `… and \d+ lines more`, text)
	require.Contains(t, text, "## Environment cluster-0\n")
	require.Regexp(t, `Not shown: \d+ environments, because the text would be too long`, text)
}

// A large environment is left out, and a small environment after it still fits.
func TestMarkdownLeavesOutTheEnvironmentThatDoesNotFit(t *testing.T) {
	u := Upgrades{Environments: []environment{
		{Name: "large", Errors: []string{strings.Repeat("x", markdownLimit)}},
		{Name: "small", Errors: []string{"a mistake"}},
	}}
	text := u.markdown()
	require.LessOrEqual(t, len(text), markdownLimit)
	require.NotContains(t, text, "Environment large")
	require.Contains(t, text, "## Environment small\n")
	require.Contains(t, text, "Not shown: 1 environment, ")
}

func TestMarkdownShowsEnvironmentsWithTheSameChangesTogether(t *testing.T) {
	u := Upgrades{Environments: []environment{
		{Name: "dev", Errors: []string{"one"}},
		{Name: "stage", Errors: []string{"two"}},
		{Name: "prod", Errors: []string{"one"}},
	}}
	text := u.markdown()
	require.Contains(t, text, "## Environment dev, prod\n")
	require.Contains(t, text, "## Environment stage\n")
	require.Equal(t, 1, strings.Count(text, "one\n"))
}
