// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// repeat calls f until it succeeds, fails for good, or the patience is over.
func (p *Plane) repeat(ctx context.Context, f func(context.Context) error) error {
	return p.repeatIf(ctx, f, temporary)
}

// repeatIf calls f until it succeeds, fails with an error for which retry is false, or the
// patience is over. It returns the last error.
func (p *Plane) repeatIf(ctx context.Context, f func(context.Context) error, retry func(error) bool) error {
	const first, most = 20 * time.Millisecond, 2 * time.Second
	wait := first
	// One request may hang for longer than that as well.
	silence := time.AfterFunc(Silence, func() { p.Wait(fmt.Sprintf("waiting for the API server of the %s plane to answer", p.Name())) })
	defer silence.Stop()
	for waited := time.Duration(0); ; {
		err := f(ctx)
		if err == nil || ctx.Err() != nil || waited >= p.options.Patience || !retry(err) {
			return err
		}
		if waited >= Silence {
			p.Wait(fmt.Sprintf("waiting for the API server of the %s plane, up to %s: %v", p.Name(), p.options.Patience, err))
		}
		pause := wait
		if after, ok := apierrors.SuggestsClientDelay(err); ok {
			pause = max(pause, min(time.Duration(after)*time.Second, most))
		}
		if p.options.Sleep(ctx, pause) != nil {
			return err
		}
		waited += pause
		wait = min(2*wait, most)
	}
}
