// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/version"
)

// The folders of references, and what marks the commit of an annotated tag.
const (
	heads  = "refs/heads/"
	tags   = "refs/tags/"
	peeled = "^{}"
)

// advert is a reference of a repository, as its server says.
type advert struct {
	name string
	// id is the object that it names: a tag where it is an annotated one.
	id string
	// commit is what an annotated tag leads to; "" for all else.
	commit string
	// symref is the reference that HEAD stands for; "" where that is not known.
	symref string
}

// target is the commit that a reference leads to.
func (a advert) target() string {
	if a.commit != "" {
		return a.commit
	}
	return a.id
}

// chosen is the commit that a reference leads to now.
type chosen struct {
	commit string
	// name is that of the branch or tag; "" for a bare commit.
	name string
	// tag is the object of an annotated tag; "" where there is none.
	tag string
}

// revision is a commit with what led there.
func (c chosen) revision() string {
	algorithm := "sha1:"
	if len(c.commit) == 64 {
		algorithm = "sha256:"
	}
	if c.name == "" {
		return algorithm + c.commit
	}
	return c.name + "@" + algorithm + c.commit
}

// patterns are the references that a choice is made among.
func (r reference) patterns() []string {
	switch r.by {
	case byBranch:
		return []string{heads + r.choice}
	case byTag:
		return []string{tags + r.choice, tags + r.choice + peeled}
	case bySemver:
		return []string{tags + "*"}
	default:
		return []string{"HEAD"}
	}
}

// choose asks a server where a reference leads.
func (r reference) choose(ctx context.Context, from remote) (chosen, error) {
	if r.by == byCommit {
		return chosen{commit: r.choice}, nil
	}
	adverts, err := from.refs(ctx, r.patterns())
	if err != nil {
		return chosen{}, err
	}
	for _, a := range adverts {
		if !isHash(a.target()) || a.commit != "" && !isHash(a.id) {
			return chosen{}, source.Refuse(source.ErrDigest, fmt.Sprintf("the server says that %q is %q, which is no hash", a.name, a.target()))
		}
	}
	switch r.by {
	case bySemver:
		return highest(adverts, r.choice)
	case byTag:
		return named(adverts, tags+r.choice, r.choice, fmt.Sprintf("no tag %q", r.choice))
	case byBranch:
		return named(adverts, heads+r.choice, r.choice, fmt.Sprintf("no branch %q", r.choice))
	default:
		c, err := named(adverts, "HEAD", "HEAD", "no default branch, or is empty: write ?branch=<name>")
		if err != nil {
			return c, err
		}
		for _, a := range adverts {
			if name, ok := strings.CutPrefix(a.symref, heads); ok && a.name == "HEAD" {
				c.name = name
			}
		}
		return c, nil
	}
}

// named chooses the reference of that full name.
func named(adverts []advert, full, short, missing string) (chosen, error) {
	i := slices.IndexFunc(adverts, func(a advert) bool { return a.name == full })
	if i < 0 {
		return chosen{}, source.Refuse(source.ErrAbsent, "the repository has "+missing)
	}
	return choice(adverts[i], short), nil
}

func choice(a advert, name string) chosen {
	c := chosen{commit: a.target(), name: name}
	if a.commit != "" {
		c.tag = a.id
	}
	return c
}

// constraint reads a range of versions.
func constraint(text string) (version.Range, error) {
	r, err := version.ParseRange(text)
	if err != nil {
		return r, source.Refuse(source.ErrReference, fmt.Sprintf("semver: %v (?semver=^1.2)", err))
	}
	return r, nil
}

// highest chooses the tag with the highest version in a range. A leading v
// does not count, and of two tags with equal versions the first by name wins.
func highest(adverts []advert, text string) (chosen, error) {
	in, err := constraint(text)
	if err != nil {
		return chosen{}, err
	}
	best, byName := in.Highest(), map[string]advert{}
	for _, a := range adverts {
		if name, ok := strings.CutPrefix(a.name, tags); ok {
			best.Add(name)
			byName[name] = a
		}
	}
	name, ok := best.Tag()
	if !ok {
		return chosen{}, source.Refuse(source.ErrAbsent, fmt.Sprintf("none of the repository's %d tags is a version in %q", len(adverts), text))
	}
	return choice(byName[name], name), nil
}
