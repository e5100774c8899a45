// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Oracle says what a Kubernetes API server would say of manifests, by asking
// the code of the API server itself.
//
//	oracle [-] [FILE|DIR]...
//
// It decodes every document strictly, fills the defaults in, and runs the
// create strategy of the kind, which is what the server does before it stores
// an object. The verdicts are written to standard output as JSON; the exit code
// is 1 where a document was refused, and 2 where the input cannot be read. Custom
// resources are skipped: their schemas are data, not code.
//
// # Decisions
//
// The program is a module of its own: k8s.io/kubernetes needs a replace line
// for every staging module, and a module with those cannot be installed by
// version. It exists for tests: what it refuses and the check of Ropewalk lets
// pass is a mistake of ours. Its verdicts on the shared corpus are kept as a
// golden file beside the corpus, so that the fast tests need not build it.
//
// The create strategies are asked, not the validation functions alone, because
// the strategies choose the options of those functions and run the declarative
// validation as well.
package main
