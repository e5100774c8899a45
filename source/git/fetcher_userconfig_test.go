// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// TestTheConfigurationOfTheUserIsOnlyReadWhenAskedFor has one that leads to
// another server.
func TestTheConfigurationOfTheUserIsOnlyReadWhenAskedFor(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	base := servers.GitHTTP(t, root)
	home := t.TempDir()
	config := fmt.Sprintf("[url %q]\n\tinsteadOf = http://elsewhere.invalid/\n", base+"/")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	f := &Fetcher{Binary: FindBinary(), PlainHTTP: anyHost, Scratch: t.TempDir()}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_DIR=/nowhere", "GIT_CONFIG_NOSYSTEM=1"}
	ref := source.Ref{Ref: "http://elsewhere.invalid/org/repo.git"}
	f.UserEnv = env
	tree, err := f.Fetch(t.Context(), ref)
	require.NoError(t, err)
	require.NotEmpty(t, names(t, tree))
	f.UserEnv = nil
	_, err = f.Fetch(t.Context(), ref)
	require.ErrorIs(t, err, source.ErrUnavailable)
	f.UserEnv, f.Secrets, ref.Secret = env, secrets{"s": {"username": "a", "password": "b"}}, "s"
	_, err = f.Fetch(t.Context(), ref)
	require.ErrorIs(t, err, source.ErrUnavailable, "a Secret is for the server that is written")
}
