// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/source"
)

// Policy says where modules may come from. Its zero value, and nil, allow all. It is
// never changed, so it is safe for concurrent use.
type Policy struct {
	deny   bool // by default
	rules  []rule
	digest string
}

// Digest returns the SHA-256 in hex of the text that the policy was read from; "" for the
// zero value. Equal policies have the same digest.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// rule is one of a policy.
type rule struct {
	name     string
	deny     bool
	sources  []pattern
	projects []string
	// signature is nil where none is wanted.
	signature *Signature
}

// DefaultRule stands for the name of a rule if no rule is about a source.
const DefaultRule = "default"

// Signature is one that a rule wants.
type Signature struct {
	// Rule is the name of the rule.
	Rule string
	// Verify holds the request for a fetcher. [Guard.Secrets] has its Secret.
	Verify source.Verify
	// Keys are the entries of that Secret.
	Keys map[string][]byte
}

// Refusal is an error of [Policy.Judge]; it is [ErrRefused] for errors.Is.
type Refusal struct {
	// Rule is the name of the rule that refuses.
	Rule string
	text string
}

// Error says what is refused, and by which rule.
func (r *Refusal) Error() string { return r.text }

// Unwrap returns ErrRefused.
func (r *Refusal) Unwrap() error { return ErrRefused }

// Judge refuses what a project may not have, and returns by whom what the reference leads to
// has to be signed. Project is "" where it is not known. References of other types than oci,
// git, helm and http are always allowed. Different spellings of one place are judged alike,
// and a place that has no canonical form is refused. The error is a *Refusal.
func (p *Policy) Judge(project string, ref source.Ref) ([]Signature, error) {
	allowsAll := p == nil || (len(p.rules) == 0 && !p.deny)
	if t, _ := reftype.Of(ref.Type); !t.Policed || allowsAll {
		return nil, nil
	}
	place, err := locate(ref.Ref)
	if err == nil && ref.Type == source.TypeGit && submodules(ref.Ref) {
		err = errSubmodules
	}
	if err != nil {
		return nil, &Refusal{Rule: DefaultRule, text: fmt.Sprintf("the pull policy cannot judge this reference: %v", err)}
	}

	// Every rule is looked at, because each of those that allow may want a signature.
	var signatures []Signature
	allowed := !p.deny
	for _, r := range p.rules {
		if !r.deny && r.concerns(project, place, false) {
			allowed = true
		}
		demands := r.deny || r.signature != nil
		if !demands || !r.concerns(project, place, true) {
			continue
		}
		if r.deny {
			return nil, &Refusal{Rule: r.name, text: fmt.Sprintf("rule %q of the pull policy denies %q%s", r.name, place, of(project))}
		}
		signatures = append(signatures, *r.signature)
	}
	if !allowed {
		return nil, &Refusal{Rule: DefaultRule, text: fmt.Sprintf("no rule of the pull policy allows %q%s", place, of(project))}
	}
	return signatures, nil
}

func of(project string) string {
	if project == "" {
		return ""
	}
	return fmt.Sprintf(" for the project %q", project)
}

// concerns reports whether a rule is about a place for a project. Strict is for what a rule
// denies, or wants signed: in doubt the rule is about it.
func (r rule) concerns(project string, place location, strict bool) bool {
	isListed := strict // the answer for an unknown project
	if project != "" {
		isListed = slices.ContainsFunc(r.projects, func(p string) bool { return glob(p, project) })
	}
	if len(r.projects) > 0 && !isListed {
		return false
	}
	return slices.ContainsFunc(r.sources, func(p pattern) bool { return p.matches(place, strict) })
}
