// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package timezone

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for a Go without the file

	"github.com/stretchr/testify/require"
)

// TestTimeZonesAreThoseOfGo fails where a new Go brings other names: run test/schemas.
func TestTimeZonesAreThoseOfGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	r, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if errors.Is(err, fs.ErrNotExist) {
		// Some distributions of Go lack the file; the names must be known all the same.
		for _, name := range Names() {
			_, err := time.LoadLocation(name)
			require.NoError(t, err)
		}
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var names []string
	for _, f := range r.File {
		if !f.FileInfo().IsDir() {
			names = append(names, f.Name)
		}
	}
	require.ElementsMatch(t, names, Names())
}
