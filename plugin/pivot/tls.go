// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

// isTLS reports whether a server answered, with a certificate that is not trusted here or in another
// protocol.
func isTLS(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	isUntrusted := errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verification)
	isOtherProtocol := errors.As(err, &header) || errors.As(err, &alert) || errors.Is(err, http.ErrSchemeMismatch)
	return isUntrusted || isOtherProtocol
}
