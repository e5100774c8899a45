// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	// CellService is the Service of the endpoints of a cluster with a cell, in the namespace of
	// the controller. It selects pods with the label app.kubernetes.io/name: ropewalk-controller.
	CellService = "ropewalk-cell"
	// CellsAnnotation of the Secret of the authority are the cells that children were given, in
	// JSON, the newest first: an agent goes on calling the one that it was given.
	CellsAnnotation = "pivot.ropewalk.dev/cells"
)

// remember adds a cell to those that children were given, and returns all of them, the newest
// first.
func (e *Endpoints) remember(ctx context.Context, cell *v1alpha1.Cell) ([]v1alpha1.Cell, error) {
	var secret corev1.Secret
	if err := e.reconciler.client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: AuthoritySecret}, &secret); err != nil {
		return nil, err
	}
	var before []v1alpha1.Cell
	if text := secret.Annotations[CellsAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			return nil, fmt.Errorf("secret %s/%s: annotation %s: expected cells in JSON: %w", e.Namespace, AuthoritySecret, CellsAnnotation, err)
		}
	}
	if len(before) > 0 && before[0] == *cell {
		return before, nil
	}
	same := func(c v1alpha1.Cell) bool { c.ServiceType = cell.ServiceType; return c == *cell }
	cells := append([]v1alpha1.Cell{*cell}, slices.DeleteFunc(before, same)...)
	text, err := json.Marshal(cells)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, CellsAnnotation, string(text))
	return cells, e.reconciler.client.Update(ctx, &secret, owner)
}

// hosts returns the hosts of cells, each one once.
func hosts(cells []v1alpha1.Cell) []string {
	var out []string
	for _, c := range cells {
		if !slices.Contains(out, c.Host) {
			out = append(out, c.Host)
		}
	}
	return out
}

// listeners are the ports of the listeners.
type listeners struct{ registration, link int32 }

func portOf(l net.Listener) int32 {
	return int32(l.Addr().(*net.TCPAddr).Port) //nolint:gosec,forcetypeassert // a listener of TCP
}

// service returns the Service of all cells that children were given. If two cells share a port, it
// leads to the endpoint of the newer one.
func service(namespace string, cells []v1alpha1.Cell, at listeners) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().WithType(corev1.ServiceType(cells[0].ServiceType)).WithSelector(map[string]string{"app.kubernetes.io/name": "ropewalk-controller"})
	used := map[int32]bool{}
	add := func(name string, port, target int32) {
		if !used[port] {
			used[port] = true
			spec.WithPorts(corev1ac.ServicePort().WithName(fmt.Sprintf("%s-%d", name, port)).WithProtocol(corev1.ProtocolTCP).WithPort(port).WithTargetPort(intstr.FromInt32(target)))
		}
	}
	for _, c := range cells {
		add("registration", c.Port, at.registration)
		add("link", c.LinkPort, at.link)
	}
	return corev1ac.Service(CellService, namespace).WithLabels(map[string]string{"app.kubernetes.io/part-of": "ropewalk"}).WithSpec(spec)
}
