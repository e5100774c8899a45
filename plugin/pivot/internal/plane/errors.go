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

// isNotFound reports whether an object is not there.
func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// isConflict reports whether an object was changed since it was read. A 409 without a reason counts
// as a conflict.
func isConflict(err error) bool {
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

	// A proxy before the server, or a server that panics, ends a single request of a connection.
	var failed *net.OpError
	var reset http2.StreamError
	isReset := errors.As(err, &reset) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
	isCut := utilnet.IsProbableEOF(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
	isAway := utilnet.IsConnectionRefused(err) || utilnet.IsTimeout(err) || errors.As(err, &failed)
	return isReset || isCut || isAway
}

// IgnoreNotFound returns err, or nil if an object, or its kind, is not there.
func IgnoreNotFound(err error) error {
	if isNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
