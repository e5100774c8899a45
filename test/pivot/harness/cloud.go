// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// Cloud is where the machines of all Clusters are, whichever plane is in charge of them.
type Cloud struct {
	*Process

	url string
}

// Machines is what the cloud has of a Cluster.
type Machines struct {
	// Machines are the times of creation by name.
	Machines map[string]time.Time `json:"machines"`
	// Journal is all that happened, the oldest first.
	Journal []Event `json:"journal"`
}

// Event is the creation or the deletion of a machine.
type Event struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	Name  string    `json:"name"`
}

// startCloud starts the cloud of the planes and installs its webhooks.
func (w *World) startCloud(b *bundle) {
	t := w.run
	address := net.JoinHostPort(plane.Loopback, plane.FreePort(t))
	args := []string{"--listen=" + address, "--workload-port=" + plane.FreePort(t)}
	for _, p := range w.planes() {
		args = append(args, "--plane="+strings.Join([]string{p.Kubeconfig, p.cloudPort, p.certificates}, ","))
	}
	w.Cloud = &Cloud{Process: w.launch(filepath.Join(w.Dir, "a", "logs"), "capi-cloud", args...), url: "http://" + address}
	w.Cloud.Await(t, func() bool { _, err := w.Cloud.Of(t.Context(), "none", "none"); return err == nil })
	for _, p := range w.planes() {
		w.Cloud.Await(t, func() bool {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(plane.Loopback, p.cloudPort))
			return err == nil && c.Close() == nil
		})
		p.install(t, b.providers[len(b.providers)-1], p.cloudPort)
	}
}

// Of is what the cloud has of a Cluster.
func (c *Cloud) Of(ctx context.Context, namespace, cluster string) (Machines, error) {
	var out Machines
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/clusters/"+namespace+"/"+cluster, nil)
	if err != nil {
		return out, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return out, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if response.StatusCode != http.StatusOK {
		return out, fmt.Errorf("the cloud answers %s", response.Status)
	}
	return out, json.NewDecoder(response.Body).Decode(&out)
}

// Delete deletes a machine behind the back of Cluster API.
func (c *Cloud) Delete(t testing.TB, namespace, cluster, machine string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, c.url+"/clusters/"+namespace+"/"+cluster+"/"+machine, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}
