// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// Guard holds fetchers to a policy. Its zero value lets everything through.
type Guard struct {
	Policy *Policy
	// Project names the project of the request; "" if it is not known.
	Project string
	// Refused is called with the rule that refused something; it may be nil.
	Refused func(rule string)
}

var errSubmodules = errors.New("it has submodules, which come from sources that no rule sees: " +
	"leave them out with submodules=false in its query")

// submodules reports whether a reference of Git may ask for submodules.
func submodules(ref string) bool {
	_, query, _ := strings.Cut(ref, "?")
	for option := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(option, "="); name == "submodules" && value != "false" {
			return true
		}
	}
	return false
}

// Judge judges a reference by the policy for the project, and reports a refusal to Refused.
func (g Guard) Judge(ref source.Ref) ([]Signature, error) {
	signatures, err := g.Policy.Judge(g.Project, ref)
	if r := (*Refusal)(nil); errors.As(err, &r) && g.Refused != nil {
		g.Refused(r.Rule)
	}
	return signatures, err
}

// Before returns a fetcher that goes in front of a lock. It stops what is refused. It also tells
// the lock that a signature is wanted: a tag may have the signature, and the commit in the lock
// does not.
func (g Guard) Before(next source.Fetcher) source.Fetcher {
	if g.Policy == nil {
		return next
	}
	return source.FetcherFunc(func(ctx context.Context, ref source.Ref) (source.Tree, error) {
		signatures, err := g.Judge(ref)
		if err != nil {
			return source.Tree{}, err
		}
		if len(signatures) > 0 && ref.Verify.Provider == "" {
			ref.Verify = signatures[0].Verify
		}
		return next.Fetch(ctx, ref)
	})
}

// Around returns a resolver that goes between a lock and a cache. It judges what is fetched
// in the end, and has every signature verified.
func (g Guard) Around(next source.Resolver) source.Resolver {
	if g.Policy == nil {
		return next
	}
	return guarded{guard: g, next: next}
}

type guarded struct {
	guard Guard
	next  source.Resolver
}

// Resolve returns where a reference leads, if it is allowed.
func (g guarded) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if _, err := g.guard.Judge(ref); err != nil {
		return source.Resolved{}, err
	}
	return g.next.Resolve(ctx, ref)
}

// Fetch gets a tree that has every signature that the rules and the reference want.
func (g guarded) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	signatures, err := g.guard.Judge(ref)
	if err != nil {
		return source.Tree{}, err
	}
	var wanted []source.Verify
	for _, s := range signatures {
		wanted = append(wanted, s.Verify)
	}
	if ref.Verify.Provider != "" && !slices.Contains(wanted, ref.Verify) {
		wanted = append(wanted, ref.Verify)
	}
	if len(wanted) == 0 {
		return g.next.Fetch(ctx, ref)
	}

	// A fetch verifies one signature, so the tree is fetched for each of them.
	var first source.Tree
	for i, v := range wanted {
		ref.Verify = v
		tree, err := g.next.Fetch(ctx, ref)
		if err != nil {
			return source.Tree{}, g.explain(signatures, v, err)
		}
		if i == 0 {
			first = tree
		} else if tree.Digest != first.Digest {
			return source.Tree{}, source.Refuse(source.ErrUnavailable, "the reference moved while its signatures were verified: try again")
		}
	}
	return first, nil
}

// explain names the rule that wants a signature.
func (g guarded) explain(signatures []Signature, v source.Verify, err error) error {
	i := slices.IndexFunc(signatures, func(s Signature) bool { return s.Verify == v })
	if i < 0 || !errors.Is(err, source.ErrSignature) {
		return err
	}
	if g.guard.Refused != nil {
		g.guard.Refused(signatures[i].Rule)
	}
	return fmt.Errorf("rule %q of the pull policy requires a signature: %w", signatures[i].Rule, err)
}

// secretOf returns the name for the keys of a rule. No Secret of Kubernetes can have that
// name.
func secretOf(rule string) string { return fmt.Sprintf("rule %q of the pull policy", rule) }

// Secrets returns the Secrets of next, and adds the keys of the rules.
func (g Guard) Secrets(next source.Secrets) source.Secrets {
	if g.Policy == nil {
		return next
	}
	return source.SecretsFunc(func(ctx context.Context, name string) (map[string][]byte, error) {
		for _, r := range g.Policy.rules {
			if r.signature != nil && r.signature.Verify.Secret == name {
				return r.signature.Keys, nil
			}
		}
		return next.Secret(ctx, name)
	})
}
