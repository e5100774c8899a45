// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package validators submits what Ropewalk renders to the code with which controllers
// validate: what they refuse and Ropewalk renders is a mistake of ours. All examples are
// rendered in all their environments, and testdata/everything, which has every field of a
// Gateway for its targets.
//
//	KEDA           the admission webhooks, and the scalers' parsers (package scalers)
//	cert-manager   the admission webhook as a server
//	Traefik        the provider of its own resources, its rules and some middlewares
//	Envoy Gateway  the translator, by the program egctl (module envoygateway)
//	Cilium         the parser of the agent
//
// The schemas of custom resources are for the check of Ropewalk; nothing here repeats it.
//
// # Not run
//
// External Secrets, Knative Serving and the fork of Traefik's basic authentication are not
// complete as Go modules: they replace modules by folders, or require revisions that the
// proxy does not have. Both controllers of HAProxy are no Go modules there at all; a test of
// cue/modules holds their annotations against their documentation. Flagger has no webhook.
//
// # Decisions
//
// The package is a module of its own, with those projects as they are released, but for
// libraries of which their releases choose different versions. Envoy Gateway is a module
// beside it: its program does not compile with the libraries of the others. The command is
// built from this tree and runs as a process. Package ext stands in for an extension point
// of Traefik, which its module replaces by a folder.
//
// `make validators` runs it, and `make nightly`: it compiles for many minutes.
package validators
