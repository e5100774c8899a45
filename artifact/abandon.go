// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
)

// abandon removes a folder that was made for this layout, where all that the
// index names was written by it. Blobs of others, who have not come to the index
// yet, have the folder stay.
func (d *layoutDir) abandon(ctx context.Context) error {
	if !d.fresh {
		return nil
	}
	// Who was interrupted clears up all the same.
	unlock, err := d.lock(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer unlock()
	data, err := d.index()
	if err != nil {
		return err
	}
	x, err := parseIndex(data)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range x.Manifests {
		if !d.wrote[m.Digest.String()] {
			return nil
		}
	}
	files := []string{indexFile}
	for _, digest := range sortedKeys(d.wrote) {
		files = append(files, blobPath(digest))
	}
	for _, name := range files {
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	d.clean()
	// A folder that is not empty is not removed, and what comes after it stays.
	for _, name := range []string{path.Join(blobsDir, "sha256"), blobsDir, layoutFile, lockFile} {
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil //nolint:nilerr // others are at work there
		}
	}
	_ = os.Remove(d.name) // others may have put something there
	return nil
}
