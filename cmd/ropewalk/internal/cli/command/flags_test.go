// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Workers share the memory of the machine, unless the user sets how much each takes.
func TestLimitsOfWorkers(t *testing.T) {
	withoutFlags := DefaultLimits()
	withoutFlags.workers = 2
	require.EqualValues(t, evaluate.DefaultMemory, withoutFlags.Limits().Memory)

	for name, test := range map[string]struct {
		args []string
		want int64
	}{
		"no workers":                 {nil, DefaultMemory},
		"workers":                    {[]string{"--workers=2"}, evaluate.DefaultMemory},
		"workers with their memory":  {[]string{"--workers=2", "--memory=64MiB"}, 64 << 20},
		"the memory of this process": {[]string{"--memory=64MiB"}, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var limits LimitFlags
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			limits.Add(flags, "")
			require.NoError(t, flags.Parse(test.args))
			require.Equal(t, test.want, limits.Limits().Memory)
		})
	}
}

func TestFlagErrorNamesTheUnitOfADuration(t *testing.T) {
	for value, want := range map[string]bool{"10": true, "1h30": true, "0.5": true, "soon": false, "5x": false} {
		t.Run(value, func(t *testing.T) {
			cmd := &cobra.Command{Use: "test"}
			cmd.Flags().Duration("timeout", time.Second, "")
			err := FlagError(cmd, cmd.Flags().Parse([]string{"--timeout", value}))
			require.Equal(t, want, err != nil && lacksUnit(err))
			if want {
				require.ErrorContains(t, err, "write the unit, such as 10s or 5m")
			} else {
				require.NotContains(t, err.Error(), "write the unit")
			}
		})
	}
}

// The text of a value must not pass for an error about a duration.
func TestFlagErrorOfAnotherFlagHasNoUnit(t *testing.T) {
	cmd := &cobra.Command{Use: "test"}
	cmd.Flags().Int("count", 1, "")
	err := FlagError(cmd, cmd.Flags().Parse([]string{"--count", "missing unit in duration"}))
	require.NotContains(t, err.Error(), "write the unit")
}
