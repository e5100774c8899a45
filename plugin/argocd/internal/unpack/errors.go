// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package unpack

import "errors"

// What callers may match with errors.Is.
var (
	// ErrLimit says that an archive is over a limit.
	ErrLimit = errors.New("over the limit")
	// ErrArchive says that something is no archive, a damaged one, or one that holds
	// what no repository does.
	ErrArchive = errors.New("bad archive")
	// ErrChecksum says that an archive is not what its sender meant to send.
	ErrChecksum = errors.New("wrong checksum")
	// ErrRoom says that what does not stay in memory could not be written.
	ErrRoom = errors.New("no room for the archive")
	// errOutside says that a symlink leads out of the repository.
	errOutside = errors.New("leaves the root of the repository by a link")
	errLoop    = errors.New("too many links, one behind the other")
)
