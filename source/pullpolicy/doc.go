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
// References of Git as git@host:path are ssh://host/path. Neither user, tag, branch
// nor digest counts, nor .git at the end of what is of Git.
//
// In a segment of host or path, * stands for any run of characters; ** at the end
// stands for one or more segments. A host without a port is that of the usual port
// (443, for http 80, for ssh 22), unless * is its end or all of its port.
//
// A source that no reference can be like, such as one with a tag, or oci with upper
// case in the path, is a mistake of the policy: a rule without effect is one that
// somebody believes in.
//
// # Invariants
//
// Deny wins, whatever the order. Of several rules that allow a source, each one that
// wants a signature gets it: another rule never loosens one. A module that a spec
// wants verified by keys of its own is verified by those too.
//
// Two spellings of one place are judged alike: both sides are brought to one form
// first (host.go, pattern.go). Of hosts, upper case, a dot at the end, zeros before
// the port, the usual port, the ways to write an address of IPv6, and the old names
// of docker.io do not count.
//
// What cannot be judged, because it has no form that everybody reads alike, is
// refused as soon as there is a rule or a default of Deny: hosts with letters beyond
// ASCII, which net/http maps to others, or with an address of IPv4 that is not four
// decimal numbers; 0.0.0.0 and ::, which are every address of the machine; paths with
// empty, dotted or escaped segments, semicolons or other unusual characters; and
// submodules of Git, which come from places that nobody sees here.
//
// A rule that denies, or wants a signature, is about a place in doubt: it takes upper
// case for lower case in paths, because some servers do, and port 80 of a registry
// for port 443, because that is the usual one where it is reached by plain http. A
// rule that allows does neither. Where the project is not known, rules for some
// projects deny, and want their signatures, and do not allow.
//
// Names that only the world outside knows to be the same are others: two names of
// DNS for one server, a repository that was renamed, http and ssh to one host, the
// folder of a user and its path from the root. To deny a server, deny all of its
// names, or deny by default.
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
// each request ([File]), and for the command line, which knows no project.
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
