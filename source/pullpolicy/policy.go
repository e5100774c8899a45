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

// DefaultRule is what stands for the name of a rule where none is about a source.
const DefaultRule = "default"

// Signature is one that a rule wants.
type Signature struct {
	// Rule is the name of the rule.
	Rule string
	// Verify is what to ask a fetcher for. Its Secret is one of [Guard.Secrets].
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
	if t, _ := reftype.Of(ref.Type); !t.Policed || p == nil || len(p.rules) == 0 && !p.deny {
		return nil, nil
	}
	at, err := locate(ref.Ref)
	if err == nil && ref.Type == source.TypeGit && submodules(ref.Ref) {
		err = errSubmodules
	}
	if err != nil {
		return nil, &Refusal{Rule: DefaultRule, text: fmt.Sprintf("the pull policy cannot judge this reference: %v", err)}
	}
	var signatures []Signature
	allowed := !p.deny
	for _, r := range p.rules {
		allowed = allowed || !r.deny && r.concerns(project, at, false)
		if !r.deny && r.signature == nil || !r.concerns(project, at, true) {
			continue
		}
		if r.deny {
			return nil, &Refusal{Rule: r.name, text: fmt.Sprintf("rule %q of the pull policy denies %q%s", r.name, at, of(project))}
		}
		signatures = append(signatures, *r.signature)
	}
	if !allowed {
		return nil, &Refusal{Rule: DefaultRule, text: fmt.Sprintf("no rule of the pull policy allows %q%s", at, of(project))}
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
func (r rule) concerns(project string, at location, strict bool) bool {
	mine := len(r.projects) == 0 || project == "" && strict ||
		project != "" && slices.ContainsFunc(r.projects, func(p string) bool { return glob(p, project) })
	return mine && slices.ContainsFunc(r.sources, func(p pattern) bool { return p.matches(at, strict) })
}
