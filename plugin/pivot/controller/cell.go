// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// CellService is the Service of the endpoints of a cluster with a cell, in the namespace of the
// controller. It selects pods with the label app.kubernetes.io/name: ropewalk-controller.
const CellService = "ropewalk-cell"

// place is where children reach a parent, and by which certificates.
type place struct {
	cell     *v1alpha1.Cell
	endpoint *enrol.Endpoint
}

// registration returns the URL at which an agent enrols.
func (p *place) registration() string {
	return "https://" + net.JoinHostPort(p.cell.Host, strconv.Itoa(int(p.cell.Port)))
}

// link returns the address of the link.
func (p *place) link() string {
	return net.JoinHostPort(p.cell.Host, strconv.Itoa(int(p.cell.LinkPort)))
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
