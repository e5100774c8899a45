// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package emit writes waves as files in the dialect of an engine: [Write] for
// the files, [HealthConfig] for what Argo CD must know beside them, [YAML] and
// [JSON] for the bytes. It is the last stage of a render and reads nothing but
// the plan.
//
// Output is canonical: sorted keys, one style of YAML, a stable order, no
// times. One file holds one object; nothing else is in a render, and no
// kustomization.yaml, by which Argo CD would switch to kustomize and which Flux
// makes itself. What an engine cannot express is named in a warning, never
// dropped silently. The plan and its objects are never changed.
//
// # Dialects
//
// plain writes objects as they are. Nobody prunes, deletes or waits there, so
// that those intents lose nothing and are not named; how an object is applied
// (mode, conflict, adopt) is.
//
// argocd adds annotations: the wave, always, so that no object falls to the
// default wave by being forgotten; sync options; readyWhen. It is flat, because
// Argo CD reads no sub-folders by default.
//
// flux writes one folder for each wave, and, where a repository is given, the
// OCIRepository and the Kustomizations that deliver them, in a folder of their
// own. That folder may be pushed with the rest: each Kustomization applies the
// folder of its layer only.
//
// # Whose annotation stands
//
// An annotation of the author's that belongs to the engine was written for that
// very engine, so it wins over what would follow from a policy, and the
// difference is named. The wave and the rule of readiness are the exception:
// they are computed from the whole graph, where one old value breaks the order
// of all, so that the author's is written over and named.
//
// # Readiness
//
// All four types of rules become CEL, and CEL becomes what the engine takes.
// A field that is not there makes an expression false, never an error.
//
// Flux evaluates CEL itself, over the fields of the object as variables; the
// rewriting in celflux.go names them so and guards them. It takes one
// expression for a kind in a Kustomization. Nodes of one kind with different
// rules are told apart by their names inside that expression; where one of them
// has no rule, the health that Flux has for the kind is spelled out for it. The
// option not taken is to split the layer in two: each more Kustomization costs a
// poll of its dependency, and the halves would have to wait for each other.
// There is no inProgress expression: Flux takes an object for which nothing
// holds to be in progress.
//
// # Why Argo CD gets data and not Lua
//
// Argo CD takes health checks as Lua for a kind, while rules belong to nodes. A
// rule therefore travels on its object, in the annotation
// ropewalk.dev/ready-when, and one static script for each kind reads it. The
// obvious way is to put Lua into the annotation and have the script load it. It
// works, because Argo CD leaves loadstring open, and it is refused here: whoever
// may annotate one object in one managed cluster would then run code in the
// application controller of all. The sandbox of Argo CD limits the time of a
// script to a second, but not its memory, and its base library reaches files.
//
// So the annotation is an expression tree in JSON, and the script walks it. The
// script knows the operators of celargo.go and no others; it reads at most 2,048
// bytes, follows 60 levels and takes 10,000 steps; what it cannot read makes
// that one object Unknown and nothing else. The worst that a forged annotation
// can do is to lie about the object that carries it, which its status could do
// as well.
//
// Argo CD opens no string library for such scripts, and the script must not ask
// its users to open one. It takes text apart by comparison: for each byte it
// asks, by halves, whether the text sorts behind a guess. That is quadratic in
// the length of the annotation, and the reason for its limit.
//
// A script replaces the health that Argo CD has built in for the kind, for all
// objects of that kind, so it carries a rewriting of it for those without a
// rule (lua/deployment.lua and its siblings). Kinds that Argo CD itself judges
// by a script fall back to the usual conditions. A rule that has no Lua leaves
// the annotation out as a whole, because half of a conjunction may hold at once,
// and the health of the kind is the safer gate.
package emit
