// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// namedURLs returns the URLs of the repository, with those of its remotes that one of its objects
// names. A clone of a fork or of a mirror has a remote that none of them names, and says nothing
// about what they mean.
func (r Repository) namedURLs(objects []Written) []string {
	named := map[string]bool{}
	for _, w := range objects {
		collectURLs(w.Value, named)
	}
	out := slices.Clone(r.URLs)
	for _, url := range r.Remotes {
		if named[plainURL(url)] {
			out = append(out, url)
		}
	}
	return out
}

// collectURLs adds the plain URLs in the fields url and repoURL of a value.
func collectURLs(v object.Value, to map[string]bool) {
	for _, m := range v.Members {
		if m.Name == "url" || m.Name == "repoURL" {
			to[plainURL(m.Value.Text)] = true
		}
		collectURLs(m.Value, to)
	}
	for _, item := range v.Items {
		collectURLs(item, to)
	}
}

// isOwn reports whether a URL is of this repository. The result known is false if no URL of its
// kind is known, Git or artifact, so that only a guess is left.
func (x *expanding) isOwn(url string) (own, known bool) {
	isArtifact := strings.HasPrefix(url, "oci://")
	for _, one := range x.repo.URLs {
		if strings.HasPrefix(one, "oci://") == isArtifact {
			known = true
			own = own || plainURL(one) == plainURL(url)
		}
	}
	return own, known
}

// plainURL returns the URL of a repository without what its spellings differ in: scheme, user and
// the ending .git.
func plainURL(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else {
		url = strings.Replace(url, ":", "/", 1) // git@host:path
	}
	host, rest, _ := strings.Cut(url, "/")
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host + "/" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git"))
}
