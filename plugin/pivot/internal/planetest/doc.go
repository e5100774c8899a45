// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package planetest is an API server in memory, for unit tests: client-go's fake dynamic
// client with a store of its own behind it.
//
// It models what the pivot relies on: UIDs, creation and deletion times, a resourceVersion
// that rises with each change and conflicts, generations, the preconditions of a deletion,
// finalizers, managedFields (the manager, operation and time of each writer, without the
// fields; those that an update brings along replace them), dry run, pages and label selectors
// of lists (in one namespace: the fake client loses the options of others), several versions
// of a kind (which differ in apiVersion only), namespaces that are not there or are
// terminating, the garbage collector (Collect), and reviews of rights.
//
// It does not model schemas, defaults, field validation, webhooks, admission, patches and
// watches: Server.Before is where a test rejects a request, and Server.After where it loses
// an answer. The real API servers are in test/pivot.
//
// Handler is the same server over HTTP.
package planetest
