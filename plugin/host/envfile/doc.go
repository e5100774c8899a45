// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package envfile reads files of variables in the syntax of docker compose:
// NAME=value, with quotes, comments, escapes in double quotes, export, and references to
// names that stand above in the same file.
//
// # Invariants
//
// Nothing but the file counts: what the parser of compose would take from the environment
// of the process is a mistake at its line. No message repeats a value or a line, which may
// be passwords; every mistake has the file and the line.
package envfile
