// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package site builds the documentation as a site, as "make site" does, and follows what leads from page
// to page. The pages are the Markdown files of the repository; docs/site has their layout.
package site
