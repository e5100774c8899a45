// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package request makes of a Transform in a cluster the request that render takes:
// it finds the source and the ConfigMaps that the Transform names, and has
// plugin/host/transform load it all from memory.
//
// # Invariants
//
// Everything that is read for a Transform is read by the client that it is given,
// which stands for the Transform's service account. What a look at the cache of the
// controller says is used to know whether anything changed, never as content.
//
// No value of a Secret gets into a request: a Secret of inputsFrom is its name and
// its key, and only its metadata is asked for. Secrets that a module names as
// credentials go to the fetchers, and nowhere else.
//
// Nothing is written to disk, and the package keeps nothing but sources in a memory
// that its caller bounds. An entry of that memory is found only under the source's
// own name beside the digest: a tenant must not get the source of another one by naming its
// digest in the status of an object of their own.
package request
