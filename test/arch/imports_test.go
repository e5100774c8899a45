// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule forbids an import to the packages below some folders.
type rule struct {
	in     []string // folders, "" is the whole project
	except []string // folders inside them that are free
	deny   []string // import path prefixes; ours without the module
	reason string
}

func rules() []rule {
	roots := []string{"source", "render", "artifact"}
	return append(append(stageRules(), engineRules()...),
		rule{
			in: []string{"render/diff"}, deny: []string{"render/spec", "render/evaluate", "render/graph", "render/order", "render/check", "render/emit"},
			reason: "a comparison takes objects, wherever they come from",
		},
		rule{
			in: []string{"cmd", "plugin"}, except: []string{"plugin/host", "cmd/ropewalk-components"}, deny: []string{"render/check", "render/component"},
			reason: "render runs the stages: callers build a render.Request and read a render.Result, whose words are those of object, spec, dialect, " +
				"workload (front ends), evaluate (the evaluator is theirs), order (the plan as data), emit (files) and diff",
		},
		rule{
			in: []string{"plugin/host"}, deny: []string{"render/check", "render/component/helm", "render/component/overlay"},
			reason: "the host fetches what components read, and their engines say what that is",
		},
		rule{
			in: []string{"cmd", "plugin"}, except: []string{"cmd/ropewalk"}, deny: []string{"render/graph"},
			reason: "a plan is read as order.Document; only the command draws and explains the edges of a graph",
		},
		rule{
			in: []string{"render"}, except: []string{"render/cuetypes"}, deny: []string{"render/cuetypes"},
			reason: "definitions are written for authors of modules, and no render reads them",
		},
		rule{in: []string{"source"}, deny: []string{"render", "artifact"}, reason: "source, render and artifact meet as fs.FS and digests"},
		rule{in: []string{"render"}, deny: []string{"source", "artifact"}, reason: "source, render and artifact meet as fs.FS and digests"},
		rule{in: []string{"artifact"}, deny: []string{"source", "render"}, reason: "source, render and artifact meet as fs.FS and digests"},
		rule{
			in: roots, reason: "engines, servers and the command line are adapters of the core",
			deny: []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "google.golang.org/grpc", "connectrpc.com/connect", "github.com/spf13/cobra"},
		},
		rule{
			in: []string{""}, except: []string{"render/evaluate", "render/cuetypes", "internal/depth", "test"}, deny: []string{"cuelang.org/go/cue"},
			reason: "evaluation has one room, so that its contexts, limits and errors have one; internal/depth scans texts, render/cuetypes writes them, and both evaluate nothing",
		},
		rule{
			in: []string{""}, except: []string{"render/evaluate", "source/modules", "test"}, deny: []string{"cuelang.org/go/mod"},
			reason: "the registry protocol is source/modules, its type is what the loader wants",
		},
		rule{
			in: []string{""}, except: []string{"render/check", "plugin/api", "plugin/flux", "plugin/pivot/controller", "cmd/ropewalk-controller", "test"}, deny: []string{"k8s.io/apiextensions-apiserver"},
			reason: "validation costs start-up time wherever it is linked",
		},
		rule{
			// Package component replaces variables by the library of Flux, which has no dependency.
			in: []string{""}, except: []string{"plugin/api", "plugin/cluster", "plugin/flux", "plugin/pivot", "cmd/ropewalk-controller", "render/component", "test"},
			deny:   []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "github.com/fluxcd"},
			reason: "the command must not link what only the controller needs: it starts in milliseconds",
		},
		rule{
			in: []string{""}, except: []string{"plugin/api", "plugin/host/transform", "plugin/flux", "plugin/pivot", "cmd/ropewalk-controller", "test"},
			deny:   []string{"plugin/api"},
			reason: "the types of the API are for the controller, and for what makes a request of one of its objects",
		},
		rule{
			in: []string{"plugin/cluster"}, deny: []string{"sigs.k8s.io/controller-runtime", "github.com/fluxcd", "plugin/api", "k8s.io/client-go/discovery", "k8s.io/client-go/kubernetes"},
			reason: "the commands for a cluster are linked by the command: they read a few fields by the dynamic client",
		},
		rule{
			in: []string{""}, except: []string{"plugin/flux", "test"},
			deny:   []string{"github.com/fluxcd/pkg/auth", "github.com/aws", "github.com/Azure", "cloud.google.com", "google.golang.org/api"},
			reason: "the SDKs of the clouds are large, and only pushes by workload identity need them",
		},
		rule{
			in: []string{""}, except: []string{"plugin/pivot/internal/link", "test"}, deny: []string{"google.golang.org/grpc"},
			reason: "only the link between a parent and its children is served and dialed by it: the sidecar is served by connectrpc.com/connect",
		},
		rule{
			in: []string{"render/document"}, except: []string{"render/document/kinds"}, deny: []string{"render/spec", "render/workload", "render/evaluate", "k8s.io", "sigs.k8s.io"},
			reason: "tables and their decoder are below what reads documents, and know values alone",
		},
		rule{
			in: []string{""}, deny: []string{"github.com/compose-spec/compose-go/v2/loader", "github.com/compose-spec/compose-go/v2/schema", "github.com/compose-spec/compose-go/v2/types"},
			reason: "compose-go compiles JSON Schemas at every start, and has no positions: it is the oracle of render/workload/frontend/compose",
		},
		rule{in: []string{"plugin/argocd"}, deny: []string{"plugin/flux", "plugin/krm", "plugin/pivot"}, reason: "adapters do not know each other"},
		rule{in: []string{"plugin/flux"}, deny: []string{"plugin/argocd", "plugin/krm", "plugin/pivot"}, reason: "adapters do not know each other"},
		rule{in: []string{"plugin/krm"}, deny: []string{"plugin/argocd", "plugin/flux", "plugin/pivot"}, reason: "adapters do not know each other"},
		rule{in: []string{"plugin/cluster"}, deny: []string{"plugin/argocd", "plugin/flux", "plugin/krm", "plugin/pivot", "plugin/host"}, reason: "adapters do not know each other; pivot reads kubeconfigs by plugin/cluster/kubeconfig"},
		rule{in: []string{"plugin/host"}, deny: []string{"plugin/argocd", "plugin/flux", "plugin/krm", "plugin/pivot"}, reason: "the host is below the adapters"},
		rule{
			in: []string{"cmd/internal"}, deny: []string{"plugin", "source", "artifact", "github.com/spf13/cobra"},
			reason: "what every command starts with is small: it links nothing that one of them does without",
		},
		rule{in: []string{""}, except: []string{"cmd"}, deny: []string{"cmd"}, reason: "nothing imports a command"},
		rule{
			in: []string{"internal"}, deny: []string{"cmd", "plugin", "source", "artifact", "render", "cue", "github.com", "golang.org", "k8s.io", "sigs.k8s.io", "google.golang.org"},
			reason: "a leaf imports the standard library only, so that everything may import it",
		},
	)
}

// engineRules keep the engines of others in the program that has them.
func engineRules() []rule {
	return []rule{
		{
			in: []string{""}, except: []string{"render/component/helm", "test"}, deny: []string{"helm.sh/helm"},
			reason: "Helm costs start-up time wherever it is linked: cmd/ropewalk-components alone does",
		},
		{
			in: []string{""}, except: []string{"render/component/kustomize/library", "test"}, deny: []string{"sigs.k8s.io/kustomize/api/krusty"},
			reason: "kustomize's library writes to variables, the log and stderr of its process, and ends it: cmd/ropewalk-components alone links it",
		},
		{
			in: []string{""}, except: []string{"cmd/ropewalk-components", "test"}, deny: []string{"render/component/helm", "render/component/kustomize/library"},
			reason: "cmd/ropewalk-components alone links the engines of others",
		},
	}
}

// frontEnds is the folder in which each input format has a package.
const frontEnds = "render/workload/frontend"

// stageRules keep the stages of a render in their order, and the packages of the
// evaluation in theirs.
func stageRules() []rule {
	stages := []string{"object", "dialect", "spec", "workload", "component", "evaluate", "preview", "graph", "order", "check", "emit"}
	var out []rule
	parts := []string{"diagnose", "module", "inputs", "trace", "provision", "inprocess", "worker", "resultcache"}
	for dir, parts := range map[string][]string{
		"render/evaluate":  parts,
		"render/component": {"manifests", "kustomize", "helm", "overlay"},
		"render/workload":  {"reader", "placeholder", "score", "resource", "network", "generate", "gateway", "frontend"},
	} {
		for i, part := range parts {
			out = append(out, rule{in: []string{dir + "/" + part}, deny: within(dir, parts[i+1:]), reason: "imports below " + dir + " go one way"})
		}
	}
	out = append(out, rule{
		in: []string{"render/evaluate"}, except: within("render/evaluate", parts), deny: within("render/evaluate", parts),
		reason: "render/evaluate is the vocabulary of the packages below it",
	}, rule{
		in: []string{"render"}, except: within("render/evaluate", parts), deny: within("render/evaluate", parts),
		reason: "the pipeline takes an evaluator from its caller",
	})
	for i, stage := range stages {
		var after []string
		for _, later := range stages[i+1:] {
			after = append(after, "render/"+later)
		}
		out = append(out, rule{
			in: []string{"render/" + stage}, deny: after,
			reason: "a stage knows the stages before it, never one after it",
		})
	}
	return out
}

// within are the folders called names of dir.
func within(dir string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = dir + "/" + name
	}
	return out
}

func below(dir, folder string) bool {
	return folder == "" || dir == folder || strings.HasPrefix(dir, folder+"/")
}

func (r rule) covers(dir string) bool {
	for _, e := range r.except {
		if below(dir, e) {
			return false
		}
	}
	for _, in := range r.in {
		if below(dir, in) {
			return true
		}
	}
	return false
}

func (r rule) denies(imported string) bool {
	imported = strings.TrimPrefix(imported, module)
	for _, d := range r.deny {
		if below(imported, d) {
			return true
		}
	}
	return false
}

func TestImportsKeepTheLayers(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue // tests may reach for oracles; the product may not
		}
		for _, r := range rules() {
			if !r.covers(f.dir()) {
				continue
			}
			for _, i := range f.imports() {
				require.False(t, r.denies(i), "%s imports %s: %s", f.path, i, r.reason)
			}
		}
		for _, i := range f.imports() {
			require.False(t, path.Dir(f.dir()) == frontEnds && strings.HasPrefix(i, module+frontEnds), "%s imports %s: front ends do not know each other", f.path, i)
		}
	}
}

func TestStagesOfARenderAreAllNamed(t *testing.T) {
	known := map[string]bool{"render": true}
	for _, s := range []string{"object", "dialect", "spec", "document", "document/kinds", "workload", "workload/score", "workload/placeholder", "workload/builder", "workload/resource", "workload/network", "workload/generate", "workload/gateway", "workload/frontend", "component", "component/manifests", "component/kustomize", "component/kustomize/library", "component/helm", "component/overlay", "evaluate", "evaluate/diagnose", "evaluate/module", "evaluate/inputs", "evaluate/trace", "evaluate/provision", "evaluate/inprocess", "evaluate/worker", "evaluate/resultcache",
		"preview", "graph", "order", "check", "check/custom", "check/finding", "check/kubernetes", "check/schemas", "emit", "cuetypes", "diff", "diff/traffic"} {
		known["render/"+s] = true
	}
	for _, f := range goFiles(t) {
		if dir := f.dir(); below(dir, "render") && !strings.Contains(dir, "/internal/") {
			if path.Dir(dir) == frontEnds {
				dir = path.Dir(dir) // Each format has a package there.
			}
			require.True(t, known[dir], "%s: a new stage needs a place in the design's tree and an import rule here", path.Clean(f.path))
		}
	}
}
