// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// fence refuses writes to the API server once the lease of this process has run out. A process
// that was stopped, with its node or by a signal, goes on where it was, and would write before it
// notices that another process leads.
type fence struct {
	// lease is the name of the Lease, and lasts is the time that others wait after its last
	// renewal.
	lease string
	lasts time.Duration

	// renewed is the time at which the last successful renewal was sent; nil while this process
	// does not lead.
	renewed atomic.Pointer[time.Time]
}

// wrap sends all requests of a connection through the fence.
func (f *fence) wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return fenced{next, f} })
}

// fenced is the transport of one client.
type fenced struct {
	next  http.RoundTripper
	fence *fence
}

var _ utilnet.RoundTripperWrapper = fenced{}

// WrappedRoundTripper returns the transport itself, by which client-go cancels a request.
func (t fenced) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements [http.RoundTripper].
func (t fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return t.next.RoundTrip(r)
	}

	// A renewal of the lease is always sent, and recorded if it succeeds.
	sent := time.Now()
	if strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/") && strings.HasSuffix(r.URL.Path, "/leases/"+t.fence.lease) {
		out, err := t.next.RoundTrip(r)
		if err == nil && out.StatusCode < http.StatusMultipleChoices {
			t.fence.renewed.Store(&sent)
		}
		return out, err
	}

	// Any other write needs a lease that has not run out.
	if last := t.fence.renewed.Load(); last != nil && sent.Sub(*last) > t.fence.lasts {
		return nil, fmt.Errorf("%s %s is refused: the lease %q of this process has run out at %s, and another one may lead",
			r.Method, r.URL.Path, t.fence.lease, last.Add(t.fence.lasts).UTC().Format(time.RFC3339))
	}
	return t.next.RoundTrip(r)
}
