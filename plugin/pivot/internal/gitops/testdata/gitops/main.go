// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command gitops calls one function of the package for a PivotCluster in a file: for the tests
// in test/e2e, which kill it. Lookup prints what it has found, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/gitops"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "of the parent")
	file := flag.String("cluster", "", "the PivotCluster, as JSON")
	applications := flag.String("applications", "", "the namespaces of Applications")
	within := flag.Duration("within", 2*time.Minute, "how long engines have to come to rest")
	flag.Parse()
	data, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	g := &gitops.GitOps{Cluster: &v1alpha1.PivotCluster{}, Within: *within, Open: open}
	if err := json.Unmarshal(data, g.Cluster); err != nil {
		return err
	}
	if *applications != "" {
		g.Applications = strings.Split(*applications, ",")
	}
	g.Plane, err = plane.Open(*kubeconfig, "", plane.Options{Name: "parent"})
	if err != nil {
		return err
	}
	ctx := context.Background()
	cluster := plane.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: g.Cluster.ClusterNamespace(), Name: g.Cluster.Name}
	switch op := flag.Arg(0); op {
	case "freeze":
		return g.Freeze(ctx, cluster)
	case "thaw":
		return g.Thaw(ctx, cluster)
	case "tombstone":
		return g.Tombstone(ctx, cluster)
	case "lookup":
		t, found, err := g.Lookup(ctx)
		if err != nil || !found {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(t)
	default:
		return fmt.Errorf("%q: expected freeze, thaw, tombstone or lookup", op)
	}
}

func open(ctx context.Context, t *v1alpha1.Transform) (artifact.Store, error) {
	plain := &remote.Registries{PlainHTTP: func(string) bool { return true }, Attempts: 1}
	return plain.Repository(ctx, strings.TrimPrefix(t.Spec.Output.OCI.Repository, "oci://"), nil)
}
