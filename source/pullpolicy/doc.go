// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullpolicy says where modules may come from, and which of them must be
// signed. A [Policy] is read from a YAML file by whoever runs a renderer for others;
// a [Guard] holds fetchers to it.
//
//	apiVersion: ropewalk.dev/v1alpha1
//	kind: PullPolicy
//	default: Deny                        # for what no rule is about; Allow where left out
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
//	- name: no-forks
//	  effect: Deny
//	  sources: ["oci://ghcr.io/acme/forks/**"]
//
// # Sources
//
// A source is scheme://host/path. The scheme is oci, https, http or ssh; * is any.
// References of Git as git@host:path are ssh://host/path. Neither user, tag, branch,
// digest nor a final .git counts, and neither do the usual ports, nor the old names
// of docker.io. In a segment of host or path, * stands for any run of characters; **
// at the end stands for one or more segments.
//
// # Invariants
//
// Deny wins, whatever the order. Of several rules that allow a source, each one that
// wants a signature gets it: another rule never loosens one. A module that a spec
// wants verified by keys of its own is verified by those too.
//
// What cannot be judged is refused: a path with empty, dotted or escaped segments,
// which servers may read otherwise than a pattern, and submodules of Git, which come
// from places that nobody sees here. A rule that denies takes upper case for lower
// case in paths, because some servers do; one that allows does not. Where the
// project is not known, rules for some projects deny and do not allow.
//
// The policy is asked for each fetch, in front of every cache: what was allowed
// yesterday and lies on disk is judged again. It is asked for what a lock leads to
// as well, since who writes a reference writes the lock too.
//
// Only what is fetched from servers by the type oci or git is judged, and modules
// that a CUE module depends on, by where their registry has them. Folders, ConfigMaps,
// inline text, what is vendored below cue.mod/pkg and what the program brings have
// been reviewed with the spec; a source of Flux was fetched by Flux.
//
// Where a server of Git redirects to is not judged: it is the word of a server that
// is allowed.
//
// Callers: plugin/host/fetch, for the Argo CD adapter, which reads the file anew for
// each request ([File]).
//
// # Decisions
//
// Keys are text in the policy, not names of Secrets: who may change which keys count
// is who may change the policy, and it changes as a whole or not at all.
//
// A rule that allows, under a default that allows all, without a signature, is an
// error and not a rule without effect: whoever writes it means that all else is
// denied.
//
// Signatures go through the Verify of a reference, with the keys as a Secret that the
// guard knows ([Guard.Secrets]). So the cache parts what was verified by other keys,
// and backends need no second way to verify.
package pullpolicy
