// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// FreeAddress is a host and port of the loopback that nothing listens on, for what is
// told where to listen and cannot say where it does. It is none of the ports that the
// system gives to clients, so that no connection takes it before whoever it is for.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const lowest, count = 20000, 12000
	var last error
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(count))) //nolint:gosec // any will do
		l, err := net.Listen("tcp", address)
		if err == nil {
			require.NoError(t, l.Close())
			return address
		}
		last = err
	}
	require.NoError(t, last)
	return ""
}
