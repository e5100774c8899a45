// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package emit writes waves as files in the dialect of an engine: [Write] for
// the files, [HealthConfig] for what Argo CD needs besides them, [YAML] and
// [JSON] for the bytes. It is the last stage of a render and reads the plan only.
//
// # Invariants
//
// Output is canonical: sorted keys, one style of YAML, a stable order, no times.
// One file holds one object, and there is no kustomization.yaml. What an engine
// cannot express is reported in a warning, never dropped silently. The plan and
// its objects are never changed.
//
// # Dialects
//
// plain writes objects as they are. There is no engine that prunes, deletes or
// waits, so these policies are not reported as lost; apply.mode, apply.conflict
// and apply.adopt are.
//
// argocd is flat and adds annotations: the wave, always; sync options; readyWhen.
//
// flux writes one folder for each wave and, where a repository is given, the
// OCIRepository and the Kustomizations that deliver them in a folder of their
// own; each Kustomization applies the folder of its layer only.
//
// An author's annotation that belongs to the engine wins over a policy, with a
// warning. The wave and the readiness rule are computed from the graph and
// replace the author's, with a warning.
//
// # Readiness
//
// All four types of rules become CEL, and CEL becomes what the engine accepts: CEL
// over the fields of the object for Flux (celflux.go), an expression tree in JSON
// in the annotation ropewalk.dev/ready-when for Argo CD (celargo.go), which one
// static Lua script for each kind interprets (lua/). The script never loads code
// from an object: it reads at most 2,048 bytes, follows 60 levels and runs 10,000
// steps. A field that is missing makes an expression false, never an error. A rule
// that cannot be expressed is left out entirely, with a warning.
package emit
