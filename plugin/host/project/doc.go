// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package project finds what a user names: spec documents, the project around them,
// its root, the files that overlay its inputs, CustomResourceDefinitions and the lock.
//
// It reads files on disk, or in a file system in memory (Options.FS) instead, where the
// same files give the same documents and the same errors at the same positions. No file
// outside of the project root is read, whatever links and references say. It does not
// fetch modules and does not print. Errors are collected in Discovery.Errs, so that all
// errors of all files are reported at once.
//
// It has three stages: [Discovery.Find] keeps the files that arguments name,
// [Discovery.Documents] parses them, and [Discovery.Unrendered] returns the other files
// when the caller knows the files that its specs have read.
//
// A folder without ropewalk.yaml is searched for specs. Hidden folders, folders of other
// modules (cue.mod, node_modules), folders with our output, and folders that are projects
// of their own are left out; links are followed inside of the root, and a file that is
// reached twice is read once. A file that was meant to be a spec and is not read, because
// of a slip in its name or its apiVersion, is an error. A CUE package in a folder without a
// document is a spec by itself: see [Discovery.Documents].
package project
