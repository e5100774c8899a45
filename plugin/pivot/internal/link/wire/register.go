// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "sync"

// registered guards what must happen once in a process.
var registered sync.Once //nolint:gochecknoglobals // so is the registry of messages

// Register registers the messages of this package. Servers and clients call it first;
// it may be called often, and concurrently.
func Register() { registered.Do(file_link_proto_init) }
