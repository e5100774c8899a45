// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullpolicy decides where modules may come from, and which of them must be
// signed. A [Policy] is read from a YAML file of the operator of a renderer; a
// [Guard] holds fetchers to it.
//
//	apiVersion: ropewalk.dev/v1alpha1
//	kind: PullPolicy
//	default: Deny                        # for sources without a rule; Allow if left out
//	rules:
//	- name: ours-are-signed
//	  effect: Allow
//	  sources: ["oci://ghcr.io/acme/**"]
//	  verify:
//	    provider: cosign                 # for oci; pgp or ssh for Git
//	    keys: ["-----BEGIN PUBLIC KEY-----\n…"]
//	- name: git-of-payments
//	  effect: Allow
//	  sources: ["*://git.example.com/payments/*"]
//	  projects: ["payments", "payments-*"]
//
// A source is scheme://host/path. The scheme is oci, https, http or ssh; * matches every scheme.
// References of Git as git@host:path are ssh://host/path. Users, tags, branches and digests do not
// count. In a segment of host or path, * matches every run of characters; ** at the end matches at
// least one segment. A host without a port has the usual port of the scheme, unless * is its end or
// its port.
//
// # Invariants
//
// Deny wins, in any order. Of several rules that allow a source, each one with a
// signature is verified, and so are the keys of the spec.
//
// A reference is brought to one canonical form and compared with rules, which are
// written in that form: lower-case hosts without a dot at the end, no usual port, no
// zeros before a port, addresses as in RFC 5952, docker.io for Docker's registry, no
// .git at the end. A rule in another form, or that no reference can match, is a
// mistake of the policy, reported at its line.
//
// What servers or clients read in more than one way is refused as soon as there is a
// rule or a default of Deny: hosts beyond ASCII, IPv4 addresses that are not four
// decimal numbers, unspecified addresses, paths with empty, dotted or escaped
// segments or unusual characters, and submodules of Git.
//
// Rules that deny, or want a signature, ignore case in paths and take ports 80 and 443 of a
// registry for the same port; rules that allow do not. For an unknown project, rules with projects
// deny and want their signatures, and do not allow.
//
// The policy is asked in front of every cache and of the lock, and again for what a
// lock leads to. It judges the types that the table of package reftype marks, and
// the modules that a CUE module depends on, by where their registry has them. Where
// a server of Git redirects to is not judged.
package pullpolicy
