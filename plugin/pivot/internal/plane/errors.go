// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// IsTemporary reports whether a request that failed may succeed later.
func IsTemporary(err error) bool { return temporary(err) }

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

func isConflict(err error) bool {
	// A random 409 has no reason that says more.
	return apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err)
}

// temporary reports whether a request may succeed when it is repeated: the server is away or busy,
// or has lost its store for a moment.
func temporary(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := int(status.Status().Code)
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError ||
			apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
	}
	var failed *net.OpError
	// A proxy before the server, or a server that panics, ends one request of a connection.
	var reset http2.StreamError
	return errors.As(err, &reset) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsTimeout(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.As(err, &failed)
}

// IgnoreNotFound returns err, or nil if an object, or its kind, is not there.
func IgnoreNotFound(err error) error {
	if isNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
