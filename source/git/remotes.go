// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"slices"
	"strings"
)

// Remotes returns the URLs of the remotes of the repository that a folder is, or is in, sorted and
// without users and passwords: origin, and for a fork also upstream. A folder without a readable
// repository has no remotes.
func Remotes(dir string) []string {
	d, err := openOnDisk(dir)
	if err != nil {
		return nil
	}
	settings, err := d.Config()
	if err != nil {
		return nil
	}
	var out []string
	for _, remote := range settings.Remotes {
		for _, url := range remote.URLs {
			out = append(out, withoutUser(url))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutUser returns a URL without a user and a password; git@host:path has none that is secret.
func withoutUser(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndex(host, "@")+1:] + "/" + path
}
