// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/pivot"
)

func TestErrorsAreDataWhereThatIsAskedFor(t *testing.T) {
	blue := pivot.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "apps", Name: "blue"}
	findings := pivot.Findings{{Ref: blue, Problem: "is not at rest", Advice: "wait"}}
	for name, c := range map[string]struct {
		receipt *pivot.Receipt
		err     error
		code    int
		want    string
		said    string
	}{
		"findings":               {nil, findings, command.Findings, `{"errors": [{"stage": "", "severity": "error", "message": "Cluster.cluster.x-k8s.io apps/blue: is not at rest", "hint": "wait"}]}`, ""},
		"findings that undid it": {nil, fmt.Errorf("%w: %w", pivot.ErrAborted, findings), command.Findings, "", "the pivot was undone"},
		"what a user decides":    {nil, pivot.ErrFenced, command.Findings, "", ""},
		"a server":               {&pivot.Receipt{ID: "17", Step: "Staged", Cluster: blue}, errors.New("connection refused"), command.Environment, "", "go on with `ropewalk pivot run --resume`"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said bytes.Buffer
			a := Commands{command.New(command.Streams{Out: &out, Err: &said})}
			a.JSON = true
			err := a.reportPivot(t.Context(), c.receipt, c.err)
			require.ErrorIs(t, err, command.ErrReported)
			require.Equal(t, c.code, command.ExitCode(err))
			if c.want != "" {
				require.JSONEq(t, c.want, out.String())
			}
			var got struct {
				ID     string
				Errors []struct{ Message string }
			}
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.Len(t, got.Errors, 1)
			require.NotEmpty(t, got.Errors[0].Message)
			require.Equal(t, c.receipt != nil, got.ID != "")
			require.Contains(t, said.String(), c.said)

			a.JSON = false
			out.Reset()
			err = a.reportPivot(t.Context(), c.receipt, c.err)
			require.Equal(t, c.code, command.ExitCode(err))
			require.NotErrorIs(t, err, command.ErrReported)
			require.Empty(t, out.String())
		})
	}
	require.NoError(t, Commands{command.New(command.Streams{})}.reportPivot(t.Context(), nil, nil))
}

func TestStatusOffersNoAbortAfterTheCommit(t *testing.T) {
	source := &pivot.Receipt{ID: "17", Role: "source", Step: "Verified"}
	target := &pivot.Receipt{ID: "17", Role: "target", Step: "Verified"}
	said := func(receipts ...*pivot.Receipt) (out string) {
		for _, r := range receipts {
			out += describe(r, committed(r, receipts))
		}
		return out
	}
	require.Contains(t, said(source, target), "or undo it with `ropewalk pivot abort`")
	require.NotContains(t, said(target), "abort", "its source may have committed")
	for _, step := range []pivot.Step{"Committed", "Activated", "Confirmed"} {
		source.Step = step
		require.NotContains(t, said(source, target), "abort", step)
		require.Contains(t, said(source, target), "committed: go on with `ropewalk pivot run --resume`")
	}
	target.Step = "Activating"
	require.NotContains(t, said(target), "abort")
	target.Step, target.ID = "Staged", "18"
	require.Contains(t, said(source, target), "abort", "it is another pivot")
}

func TestTheKubeconfigOfAnInstalledClusterIsWrittenOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "blue.kubeconfig")
	require.NoError(t, keep(file, "blue", nil))
	require.NoFileExists(t, file)
	require.NoError(t, keep(file, "blue", []byte("of blue")))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, keep(file, "blue", []byte("of blue")), "a run that goes on")
	for _, other := range [][]byte{nil, []byte("of another")} {
		err := keep(file, "blue", other)
		require.ErrorContains(t, err, "exists, and is not the kubeconfig of blue")
		require.NotContains(t, err.Error(), "of another")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "of blue", string(text))
	require.ErrorContains(t, keep(filepath.Join(file, "below"), "blue", nil), "--out: ")
	require.ErrorContains(t, keep(filepath.Join(t.TempDir(), "none", "file"), "blue", []byte("x")), "--out: ")
}
