// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/renders"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// bench is a Reconciler over objects that no server has: what one does beside reading and
// writing is for test/e2e.
type bench struct {
	*Reconciler
	events *record.FakeRecorder
	log    strings.Builder
}

func newBench(t *testing.T, evaluator evaluate.Evaluator, objects ...client.Object) *bench {
	t.Helper()
	of := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Transform{}).Build()
	counted, err := newCounters(prometheus.NewRegistry(), of)
	require.NoError(t, err)
	out := &bench{events: record.NewFakeRecorder(1000)}
	out.Reconciler = &Reconciler{
		Client: of, cache: of, direct: of, now: time.Now, accounts: &accounts{own: of, scheme: Scheme(), clients: lru.New[string, client.Client](1)},
		opts: Options{
			Renderer: render.Renderer{Evaluator: evaluator},
			Events:   out.events, DependencyRequeue: time.Second,
		},
		loader: &request.Loader{
			Modules:     request.Modules{Embedded: cue.Module, EmbeddedNames: cue.Names(), Client: http.DefaultClient, Report: func(err error) { out.log.WriteString(err.Error() + "\n") }},
			KubeVersion: func(context.Context) (string, error) { return "1.36", nil },
		},
		plans: newPlans(1 << 20), attempts: &renders.Attempts{}, slots: renders.NewSlots(1), counters: counted,
		service: service.New(service.Options{Renderer: render.Renderer{Evaluator: evaluator}, Slots: limiter.New(limiter.Options{Slots: 1})}),
	}
	return out
}

// reconcile reconciles a Transform until its status says why it is not Ready, and is all
// that a user reads of that: the status, the events and the log.
func (b *bench) reconcile(t *testing.T, name string) string {
	t.Helper()
	logged := funcr.New(func(prefix, args string) { b.log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 5})
	_, err := b.Reconcile(log.IntoContext(t.Context(), logged), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}})
	var of v1alpha1.Transform
	require.NoError(t, b.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, &of))
	status, failed := json.MarshalIndent(of.Status, "", " ")
	require.NoError(t, failed)
	require.Contains(t, string(status), `"status": "False"`, "%v", err)
	out := string(status) + b.log.String()
	if err != nil {
		out += err.Error()
	}
	b.log.Reset()
	for len(b.events.Events) > 0 {
		out += <-b.events.Events + "\n"
	}
	return out
}

// repository is a GitRepository whose artifact a server has.
func repository(t *testing.T, name string, files map[string]string) *sourcev1.GitRepository {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) }))
	t.Cleanup(server.Close)
	o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}}
	o.Spec.URL, o.Status.ObservedGeneration = "https://git.example/shop.git", 1
	o.Status.Artifact = &meta.Artifact{URL: server.URL + "/x.tar.gz", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(packed.Bytes())), Revision: "main@sha1:abc"}
	return o
}

// transforms are what a Transform of the cluster can be made of cases: of each that is one,
// and one of all files in a repository. What files of values and options of the command
// line hold is in ConfigMaps.
func transforms(t *testing.T, number int, cases ...rejected.Case) (out []client.Object, names []string) {
	t.Helper()
	add := func(name string, of *v1alpha1.Transform, p rejected.Project) {
		of.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1, UID: types.UID(name)}
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "of-" + name}, Data: map[string]string{}}
		from := func(key, text, target, runtime string) {
			settings.Data[key] = text
			of.Spec.InputsFrom = append(of.Spec.InputsFrom, v1alpha1.InputReference{Kind: "ConfigMap", Name: settings.Name, Key: key, TargetPath: target, Runtime: runtime})
		}
		for i, arg := range p.Values {
			_, file, _ := strings.Cut(arg, ":")
			from(fmt.Sprintf("values-%d.yaml", i), p.Files[file], "", "")
		}
		for i, arg := range p.Set {
			target, value, _ := strings.Cut(arg, "=")
			from(fmt.Sprintf("set-%d", i), value, target[strings.Index(target, ":")+1:], "")
		}
		for i, arg := range p.Runtime {
			variable, value, _ := strings.Cut(arg, "=")
			from(fmt.Sprintf("runtime-%d", i), value, "", variable)
		}
		out, names = append(out, of, settings), append(names, name)
	}
	for i, c := range cases {
		of := &v1alpha1.Transform{}
		text, _, _ := strings.Cut(c.Files[c.Spec+"/a.yaml"], "\n---\n")
		if yaml.UnmarshalStrict([]byte(text), of) != nil || of.Spec.CueRef == nil {
			continue // The API server refuses it.
		}
		add(fmt.Sprintf("t%d-%d", number, i), of, rejected.Join(c))
	}
	p := rejected.Join(cases...)
	name := fmt.Sprintf("t%d", number)
	of := &v1alpha1.Transform{}
	of.Spec.SourceRef = &v1alpha1.SourceReference{Kind: "GitRepository", Name: name, Environment: "prod"}
	add(name, of, p)
	return append(out, repository(t, name, p.Files)), names
}

// TestTheControllerShowsNoRejectedSecret reconciles Transforms whose secrets are rejected,
// and looks for them in conditions, violations, events and the log.
func TestTheControllerShowsNoRejectedSecret(t *testing.T) {
	t.Parallel()
	l := rejected.NewLeaks()
	all := rejected.Cases(4, 0, rejected.Many(t))
	evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
	random := rand.New(rand.NewPCG(4, 2)) //nolint:gosec // not for secrecy
	for n := 0; len(all) > 0; n++ {
		size := min(len(all), 1+random.IntN(10))
		objects, names := transforms(t, n, all[:size]...)
		b := newBench(t, evaluator, objects...)
		for _, name := range names {
			if found, ok := l.Find([]byte(b.reconcile(t, name))); ok {
				t.Errorf("%s: %q: %s", name, rejected.Join(all[:size]...).Names, found)
			}
		}
		all = all[size:]
	}
}
