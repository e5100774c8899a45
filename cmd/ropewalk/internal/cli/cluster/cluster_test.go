// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestArgumentsThatNameATransform(t *testing.T) {
	cmd := &cobra.Command{Use: "wait"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"two words":           {[]string{"transform", "web"}, "web"},
		"one word":            {[]string{"rwt/web"}, "web"},
		"the resource":        {[]string{"transforms.ropewalk.dev/web"}, "web"},
		"letters of any case": {[]string{"Transform", "web"}, "web"},
		"no kind":             {[]string{"web"}, ""},
		"another kind":        {[]string{"deploy/web"}, ""},
		"no name":             {[]string{"transform/"}, ""},
		"a name too many":     {[]string{"transform", "web", "api"}, ""},
		"a path":              {[]string{"transform/web/api"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := named(cmd, c.args)
			require.Equal(t, c.want, got)
			var usage *command.UsageError
			if c.want == "" {
				require.ErrorAs(t, err, &usage)
				require.Equal(t, `write it as "wait transform web"`, usage.Hint)
			}
		})
	}
}

func TestTheStateOfAClusterIsAMistakeOrOfTheEnvironment(t *testing.T) {
	var environment *command.EnvironmentError
	require.ErrorAs(t, mistake(&cluster.Error{Absent: true}), &environment)
	var findings object.Errors
	require.ErrorAs(t, mistake(&cluster.Error{Advice: "wait"}), &findings)
	require.Equal(t, "wait", findings[0].Hint)
}
