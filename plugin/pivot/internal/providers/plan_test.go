// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// management is a management cluster with an inventory of providers, each NAMESPACE KIND NAME VERSION.
func management(t *testing.T, kinds []plane.Kind, inventory ...string) *planetest.Server {
	t.Helper()
	list := plane.Kind{Group: "clusterctl.cluster.x-k8s.io", Kind: "Provider", Resource: "providers", Version: "v1alpha3", Served: []string{"v1alpha3"}, Namespaced: true}
	s := planetest.New("management", append(kinds, list)...)
	for _, line := range inventory {
		words := strings.Split(line, " ")
		o := planetest.Object("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider", words[0], words[2])
		o.Object["type"], o.Object["providerName"], o.Object["version"] = words[1], words[2], words[3]
		s.Put(o)
	}
	return s
}

func TestAPlanHasWhatIsInstalledAndWhatIsMissingInTheirOrder(t *testing.T) {
	s := management(t, planetest.ClusterAPI(),
		"capa-system InfrastructureProvider aws v2.10.0", "capi-system CoreProvider cluster-api v1.13.2", "kubeadm BootstrapProvider kubeadm v1.14.0",
		"capd-system InfrastructureProvider docker v1.15.1", "ipam IPAMProvider in-cluster v1.0.2", "caaph AddonProvider helm next", "odd OtherProvider x v1.0.0",
	)
	plan, err := Make(t.Context(), s.Plane(), []Wanted{{Name: "gcp"}, {Name: "docker", Version: "v1.14.2"}, {Name: "vsphere", Version: "v1.12.0"}})
	require.NoError(t, err)
	require.Equal(t, []Step{
		{"CoreProvider", "cluster-api", "capi-system", "v1.13.2", "v1.14.0", Upgrade, ""},
		{"BootstrapProvider", "kubeadm", "kubeadm", "v1.14.0", "v1.14.0", Keep, ""},
		{"ControlPlaneProvider", "kubeadm", "capi-kubeadm-control-plane-system", "", "v1.14.0", Install, ""},
		{"InfrastructureProvider", "aws", "capa-system", "v2.10.0", "v2.13.0", Upgrade, ""},
		{"InfrastructureProvider", "docker", "capd-system", "v1.15.1", "v1.15.1", Keep, "newer than v1.14.2, which was asked for: a provider is not downgraded"},
		{"InfrastructureProvider", "gcp", "capg-system", "", "v1.13.1", Install, ""},
		{"InfrastructureProvider", "vsphere", "vsphere-system", "", "v1.12.0", Install, ""},
		{"IPAMProvider", "in-cluster", "ipam", "v1.0.2", "v1.0.2", Keep, ""},
		{"AddonProvider", "helm", "caaph", "next", "next", Keep, `its version, "next", is none that can be compared`},
		{"OtherProvider", "x", "odd", "v1.0.0", "v1.0.0", Keep, ""},
	}, plan.Steps)
	require.Equal(t, []string{
		"the Cluster API Operator, which the objects of --format yaml are for, is not installed",
		"InfrastructureProvider gcp needs its credentials: add spec.configSecret with the name of a Secret to its object",
		"InfrastructureProvider vsphere needs its credentials: add spec.configSecret with the name of a Secret to its object",
		"OtherProvider odd/x is of no kind that the Cluster API Operator has, and is not among its objects",
	}, plan.Notes)

	// Nothing is written.
	for _, r := range s.Requests() {
		require.False(t, r.Write(), "%+v", r)
	}
}

func TestVersionsThatAreInstalledAndNewerStay(t *testing.T) {
	s := management(t, nil, "capi-system CoreProvider cluster-api v1.99.0", "capa-system InfrastructureProvider aws v2.10.0", "capz-system InfrastructureProvider azure v1.20.0")
	plan, err := Make(t.Context(), s.Plane(), []Wanted{{Name: "aws", Version: "v2.11.0"}})
	require.NoError(t, err)
	require.Equal(t, Step{"CoreProvider", "cluster-api", "capi-system", "v1.99.0", "v1.99.0", Keep, "newer than v1.14.0, by whose definitions Ropewalk checks objects"}, plan.Steps[0])
	require.Equal(t, "v2.11.0", plan.Steps[3].Version, "the version that the user asks for")
	require.Equal(t, Step{"InfrastructureProvider", "azure", "capz-system", "v1.20.0", "v1.20.0", Keep, ""}, plan.Steps[4])
}

func TestAClusterWithoutAnInventory(t *testing.T) {
	operator := plane.Kind{Group: "operator.cluster.x-k8s.io", Kind: "CoreProvider", Resource: "coreproviders", Version: "v1alpha2", Served: []string{"v1alpha2"}, Namespaced: true}
	plan, err := Make(t.Context(), planetest.New("bare", operator).Plane(), nil)
	require.NoError(t, err)
	require.Len(t, plan.Steps, 3)
	for _, s := range plan.Steps {
		require.Equal(t, Install, s.Action)
	}
	require.Equal(t, []string{"there is no infrastructure provider: name one with --infrastructure"}, plan.Notes)

	// What was applied by hand is in no inventory.
	plan, err = Make(t.Context(), planetest.New("by hand", planetest.ClusterAPI()...).Plane(), nil)
	require.NoError(t, err)
	require.Contains(t, plan.Notes[0], "the cluster has no inventory of it")
}

// An inventory that cannot be read is not an empty one.
func TestAnInventoryThatCannotBeRead(t *testing.T) {
	s := management(t, nil)
	s.Before = func(r planetest.Request) error {
		if r.Ref.Kind == "Provider" {
			return errors.New("providers is forbidden")
		}
		return nil
	}
	_, err := Make(t.Context(), s.Plane(), nil)
	require.ErrorContains(t, err, "providers is forbidden")
}

func TestProvidersOfTheCommandLine(t *testing.T) {
	for text, want := range map[string]Wanted{"aws": {"aws", ""}, "azure:v1.21.0": {"azure", "v1.21.0"}, "vsphere:v1.12.0-rc.1": {"vsphere", "v1.12.0-rc.1"}} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for text, says := range map[string]string{
		"": "is not NAME or NAME:VERSION", "AWS": "is not NAME", "aws:": "is not NAME", "aws:2.13.0": "is not NAME", "aws:v2": "is not NAME",
		"azure": `no version of the provider "azure" is known`, "vsphere": "no version of",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, says, text)
	}
}

// The versions are those of the guides.
func TestKnownVersionsAreThoseOfTheGuides(t *testing.T) {
	table, err := os.ReadFile("../../../../deploy/pivot/providers.md")
	require.NoError(t, err)
	rows := map[string]string{"docker": "| Docker |", "aws": "| AWS |", "gcp": "| Google Cloud |", "azure": "| Azure |"}
	for _, k := range all()[3:] {
		row := ""
		for line := range strings.Lines(string(table)) {
			if strings.HasPrefix(line, rows[k.name]) && row == "" {
				row = line
			}
		}
		cells := strings.Split(strings.TrimSpace(row), "|")
		require.Len(t, cells, 6, k.name)
		version := strings.TrimSpace(cells[4])
		if !strings.HasPrefix(version, "v") {
			version = ""
		}
		require.Equal(t, version, k.version, k.name)
	}
	guide, err := os.ReadFile("../../../../deploy/pivot/children.md")
	require.NoError(t, err)
	for _, k := range all()[:3] {
		require.Contains(t, string(guide), k.name+":"+k.version)
	}
}
