// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package host is what every adapter shares: it finds the specs that a user
// names, lays environments and values over them, fetches their modules and
// builds the request that render takes; and it writes a finished render into
// a directory.
//
// It reads files, on disk or in a file system in memory (Options.FS), and only
// below the root of the project, whatever links and references say; with a file
// system the disk is not touched. It prints nothing and reads neither the
// environment, nor the clock, nor the network (fetchers do that). All mistakes of
// all files are reported at once.
//
// Callers: the command line, and the Argo CD, Flux and KRM adapters.
//
// # Decisions
//
// What is laid over an input comes in this order, the later wins: the spec,
// the environment of the project, --values files in their order, --set in
// their order. A values file for several specs is a map by spec, and a --set
// names its spec (api:replicas=3), because api.replicas=3 could mean either a
// spec or a field.
//
// A directory without ropewalk.yaml is searched for specs; folders that are
// hidden, hold modules of others (cue.mod, node_modules), hold output of ours
// or are a project of their own are left out. Searching further up for a
// project was not chosen: what a render depends on should be visible in its
// arguments.
//
// A directory without any document of ours that is a CUE package is one spec: a
// Transform of it and of nothing else. Documents win, because a module may be laid
// beside the specs that use it, and to render both would be a surprise. Its name is
// that of the folder; the root has the same name in every checkout. Packages further
// down are not searched for: most folders with CUE in them are parts of others.
//
// The module of such a package may begin above it. In a checkout it is found up to
// the folder of .git. Without one, the nearest cue.mod above is the root, as for CUE's
// own command; to ask for a flag was not chosen, because the same files would render
// in a checkout and not beside it. A link to such a folder is followed inside of the
// root, as one to a project is; links in a module are not.
//
// What a spec takes (Loaded.Parameters) comes from its module, and its value from
// what was loaded. A module is asked without its spec, so that one answer is
// remembered for all.
//
// A file system in memory is read as the disk is: the same files give the same
// request, byte for byte, and the same mistakes at the same positions. Nothing in
// it bounds a project as .git does on disk, for what was given is the bound
// already. To write what was streamed into a temporary directory was not chosen:
// it costs more than the render, and leaves files of others behind in a crash.
//
// The output directory is replaced as a whole by one rename, not file by file:
// a reader sees the old render or the new one, and an interrupted write leaves
// the old.
package host
