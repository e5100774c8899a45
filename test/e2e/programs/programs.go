// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"fmt"
	"strings"
)

// program is one program of a module.
type program struct {
	// name is what it is called by.
	name string
	// pkg is its main package, as the module that pins it names it.
	pkg string
}

// project is a folder with a module that pins programs.
type project struct {
	folder string
	// module is what the version is that of.
	module   string
	programs []program
	// stamp are the link flags that tell a program its version.
	stamp func(version string) []string
	// shares keeps the paths of sources in what is compiled, so that others who
	// compile the same packages have them too.
	shares bool
}

// projects are all that can be installed.
func projects() []project {
	return []project{
		{
			folder: "kubernetes", module: "k8s.io/kubernetes", stamp: kubernetesVersion,
			programs: []program{
				{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
				{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
				{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
				{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
			},
		},
		{
			folder: "etcd", module: "go.etcd.io/etcd/server/v3",
			programs: []program{{"etcd", "go.etcd.io/etcd/server/v3"}},
		},
		{
			folder: "kwok", module: "sigs.k8s.io/kwok",
			programs: []program{{"kwok", "sigs.k8s.io/kwok/cmd/kwok"}},
		},
		{
			folder: "sourcecontroller", module: "github.com/fluxcd/source-controller",
			programs: []program{{"source-controller", "github.com/fluxcd/source-controller"}},
		},
		{
			folder: "kustomizecontroller", module: "github.com/fluxcd/kustomize-controller",
			programs: []program{{"kustomize-controller", "github.com/fluxcd/kustomize-controller"}},
		},
		{
			folder: "helm", module: "helm.sh/helm/v3",
			programs: []program{{"helm", "helm.sh/helm/v3/cmd/helm"}},
		},
		{
			folder: "clusterapi", module: "sigs.k8s.io/cluster-api", stamp: clusterAPIVersion,
			programs: []program{
				{"capi-core", "sigs.k8s.io/cluster-api/core"},
				{"capi-bootstrap", "sigs.k8s.io/cluster-api/bootstrap/kubeadm"},
				{"capi-control-plane", "sigs.k8s.io/cluster-api/controlplane/kubeadm"},
				{"capi-cloud", "."},
				{"clusterctl", "sigs.k8s.io/cluster-api/cmd/clusterctl"},
			},
		},
		{
			folder: "argocd", module: "github.com/argoproj/argo-cd/v3", shares: true,
			programs: []program{{"argocd", "."}},
			stamp: func(version string) []string {
				return []string{"-X github.com/argoproj/argo-cd/v3/common.version=" + strings.TrimPrefix(version, "v")}
			},
		},
	}
}

// kubernetesVersion is what clients read as the version of a server; without it
// there is none that they can parse.
func kubernetesVersion(version string) []string {
	return versionIn("k8s.io/component-base/version", version)
}

// clusterAPIVersion is what the programs of Cluster API say that they are.
func clusterAPIVersion(version string) []string {
	return versionIn("sigs.k8s.io/cluster-api/version", version)
}

func versionIn(pkg, version string) []string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	in := "-X " + pkg + "."
	return []string{in + "gitVersion=" + version, in + "gitMajor=" + parts[0], in + "gitMinor=" + parts[1]}
}

// flags are those of go build.
func (p project) flags(version string) []string {
	link := []string{"-s", "-w"}
	if p.stamp != nil {
		link = append(link, p.stamp(version)...)
	}
	flags := []string{"-ldflags=" + strings.Join(link, " ")}
	if !p.shares {
		flags = append(flags, "-trimpath")
	}
	return flags
}

// of is the project that has a program.
func of(name string) (project, program, error) {
	for _, p := range projects() {
		for _, one := range p.programs {
			if one.name == name {
				return p, one, nil
			}
		}
	}
	return project{}, program{}, fmt.Errorf("no module pins a program %q", name)
}
