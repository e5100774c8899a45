// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pullpolicy_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// TestWhatIsNoFileHoldsNobodyUp puts a pipe in the place of a policy, before it is
// opened for the first time and while it is in use.
func TestWhatIsNoFileHoldsNobodyUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write := func() { require.NoError(t, os.WriteFile(name, []byte(head+"default: Deny\n"), 0o600)) }
	within := func(t *testing.T, what func()) {
		t.Helper()
		done := make(chan struct{})
		go func() { defer close(done); what() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("it hangs")
		}
	}
	write()
	var told []string
	f, err := pullpolicy.Open(name, func(err error) { told = append(told, err.Error()) })
	require.NoError(t, err)
	for _, c := range []struct {
		what string
		put  func() error
	}{
		{"a pipe", func() error { return syscall.Mkfifo(name, 0o600) }},
		{"a link to a device", func() error { return os.Symlink("/dev/zero", name) }},
		{"a folder", func() error { return os.Mkdir(name, 0o700) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			require.NoError(t, os.Remove(name))
			require.NoError(t, c.put())
			told = nil
			var judged, opened error
			within(t, func() {
				_, judged = f.Current().Judge("", refOf("oci://x/y"))
				_, opened = pullpolicy.Open(name, nil)
			})
			require.ErrorIs(t, judged, pullpolicy.ErrRefused, "the last good one holds")
			require.ErrorIs(t, opened, pullpolicy.ErrPolicy)
			require.ErrorContains(t, opened, name+" is not a regular file")
			require.Len(t, told, 1)
			require.Contains(t, told[0], "the pull policy stays as it was: ")
			require.False(t, f.Stats().Good)
			require.NoError(t, os.Remove(name))
			write()
			within(t, func() { f.Current() })
			require.True(t, f.Stats().Good)
		})
	}
}
