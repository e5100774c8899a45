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
//	Knative        the webhook's validation, of 2024 (module knative)
//	oauth2-proxy   the program, through which clients log in (module oauth2proxy)
//
// The schemas of custom resources are for the check of Ropewalk; nothing here repeats it.
//
// # Not run
//
// External Secrets and the fork of Traefik's basic authentication are not complete as Go
// modules: they replace modules by folders, or require revisions that the proxy does not
// have, as newer releases of Knative Serving do. Most middlewares of Traefik import the SDKs
// of every provider of DNS, some of which are not there either. Both controllers of HAProxy
// and KEDA's add-on for HTTP are no Go modules there at all; a test in cue holds the
// annotations against their documentation. Flagger has no webhook.
//
// # Decisions
//
// The package is a module of its own, with those projects as they are released, but for
// libraries of which their releases choose different versions. Envoy Gateway and Knative are
// modules beside it: they do not compile with the libraries of the others. That of
// oauth2-proxy has its own test, which needs none of them. The command is built from this
// tree and runs as a process. Package ext stands in for an extension point of Traefik, which
// its module replaces by a folder.
//
// `make validators` runs it, and `make nightly`: it compiles for many minutes.
package validators
