// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package applicationset

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clients "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"
)

// data is where the cases, the repository of the generators and the goldens are.
const data = "../../plugin/host/gitops/testdata/applicationsets"

// golden is what Argo CD makes of an ApplicationSet: Applications, or the reason why it makes none.
type golden struct {
	Applications []map[string]any `json:"applications,omitempty"`
	Refused      string           `json:"refused,omitempty"`
}

// TestGoldensAreWhatArgoCDGenerates: with ROPEWALK_UPDATE=1 the goldens are written.
func TestGoldensAreWhatArgoCDGenerates(t *testing.T) {
	log.SetOutput(io.Discard)
	text, err := os.ReadFile(filepath.Join(data, "sets.yaml"))
	require.NoError(t, err)
	var sets map[string]map[string]any
	require.NoError(t, yaml.Unmarshal(text, &sets))
	usual := sets["default"]
	delete(sets, "default")

	all := newGenerators(t)
	got := map[string]golden{}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		spec := sets[name]
		if spec["template"] == nil {
			spec["template"] = usual
		}
		got[name] = all.applications(t, spec)
	}
	made, err := yaml.Marshal(got)
	require.NoError(t, err)
	file := filepath.Join(data, "applications.yaml")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, made, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(made), "run make goldens")
}

// controller has what the controller generates Applications with.
type controller struct {
	generators map[string]generators.Generator
	client     client.Client
}

// newGenerators makes the generators of a controller whose cluster has the Secrets of the
// repository and the project default.
func newGenerators(t *testing.T) controller {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	objects := []client.Object{&v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "argocd"}}}
	var secrets []runtime.Object
	files, err := filepath.Glob(filepath.Join(data, "fleet/clusters/*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of this tree
		require.NoError(t, err)
		secret := &corev1.Secret{}
		require.NoError(t, yaml.UnmarshalStrict(text, secret))
		// The API server moves stringData.
		for name, value := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[name] = []byte(value)
		}
		secret.StringData = nil
		objects = append(objects, secret)
		secrets = append(secrets, secret.DeepCopy())
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return controller{
		generators: generators.GetGenerators(context.Background(), c, clients.NewSimpleClientset(secrets...), "argocd", newRepository(t), nil, generators.SCMConfig{}),
		client:     c,
	}
}

// applications are what the controller generates of an ApplicationSet with a spec. It applies none
// if one of them cannot be made.
func (c controller) applications(t *testing.T, spec map[string]any) golden {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "set", "namespace": "argocd"}, "spec": spec})
	require.NoError(t, err)
	var set v1alpha1.ApplicationSet
	require.NoError(t, json.Unmarshal(text, &set))
	made, _, err := template.GenerateApplications(log.WithField("set", "set"), set, c.generators, &utils.Render{}, c.client)
	if err != nil {
		return golden{Refused: err.Error()}
	}
	out := golden{Applications: []map[string]any{}}
	for _, application := range made {
		encoded, err := json.Marshal(application)
		require.NoError(t, err)
		var object map[string]any
		require.NoError(t, json.Unmarshal(encoded, &object))
		delete(object, "status")
		out.Applications = append(out.Applications, object)
	}
	slices.SortFunc(out.Applications, func(a, b map[string]any) int { return strings.Compare(sortKey(a), sortKey(b)) })
	return out
}

// sortKey is the text by which Applications are sorted: the order of a merge is that of a map.
func sortKey(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return object["metadata"].(map[string]any)["name"].(string) + "\x00" + string(text)
}

// repository is the folder fleet, as the repo-server answers for it.
type repository struct{ dir string }

// newRepository commits the folder fleet.
func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{dir: t.TempDir()}
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(filepath.Join(data, "fleet"))))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		_, err := r.git(args...)
		require.NoError(t, err)
	}
	return r
}

func (r repository) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).Output() //nolint:gosec // arguments of this file
	return string(out), err
}

// GetFiles implements services.Repos by the command that the repo-server runs (Argo CD v3.2.11,
// util/git/client.go, LsFiles). That these are the files is held in test/argocd.
func (r repository) GetFiles(_ context.Context, _, _, _, pattern string, _, _ bool) (map[string][]byte, error) {
	names, err := r.git("ls-files", "--full-name", "-z", "--", pattern)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		if out[name], err = os.ReadFile(filepath.Join(r.dir, name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// GetDirectories implements services.Repos: all folders but hidden ones (Argo CD v3.2.11,
// reposerver/repository/repository.go, GetGitDirectories).
func (r repository) GetDirectories(context.Context, string, string, string, bool, bool) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(r.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir() || name == ".":
			return err
		case strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		out = append(out, name)
		return nil
	})
	return out, err
}
