// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package servers starts the real servers that tests talk to: registries, with
// and without a referrers API, and Git over http and ssh. Everything listens on
// the loopback, keeps its files in folders of the test, starts well under a
// second, and ends with the test, its processes too.
//
// In front of each registry is a proxy of ours. It counts the requests, asks
// for credentials, and puts faults in place of answers, so that tests see and
// disturb the wire and not the client.
//
// A server whose binary is missing skips the test and says which package of
// Debian holds it; with ROPEWALK_SERVERS=required in the environment the test
// fails instead, so that no skip hides in CI.
//
// Callers: the tests of source, artifact, plugin, cmd and deploy. The product never
// imports it.
//
// # Decisions
//
// sshd runs once for each connection, in the mode for inetd, behind a listener
// of ours. A daemon was not chosen: it needs a port that it cannot say, and its
// children leave the process group and outlive it.
//
// docker-registry cannot say its port either. It is started on a port that was
// free, proves by a header of its own that it is the one that answers, and is
// started again elsewhere when it is not.
//
// sshd started by root wants the empty folder /run/sshd, which is compiled in.
// It is made where it is missing, and stays: that is the one thing that is
// written outside of the folders of a test.
package servers
