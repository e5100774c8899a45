// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package oauth2proxy runs oauth2-proxy, in the version and with the arguments and variables of a
// rendered Gateway, against an issuer of OpenID Connect, and sends it what Traefik and HAProxy
// Ingress send.
package oauth2proxy
