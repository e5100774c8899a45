// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "sync"

// registered guards what must happen once in a process.
var registered sync.Once //nolint:gochecknoglobals // so is the registry of messages

// Register makes the messages of this package known. Whoever makes a server or a
// client calls it first; it may be called often, also at once.
func Register() {
	registered.Do(func() {
		file_plugin_proto_init()
		file_askpass_proto_init()
	})
}
