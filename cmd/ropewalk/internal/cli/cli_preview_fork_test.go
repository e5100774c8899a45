// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// canary stands for what is secret on the machine that previews a change.
const canary = "c4n4ry-0f-th3-m4ch1n3"

// listener is a server of an attacker: it keeps what it is asked.
type listener struct {
	mu    sync.Mutex
	asked []string
	URL   string
}

func listen(t *testing.T) *listener {
	l := &listener{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.asked = append(l.asked, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header))
		l.mu.Unlock()
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	l.URL = server.URL
	return l
}

// take returns what was asked since the last time.
func (l *listener) take() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, l.asked = l.asked, nil
	return out
}

// fork is a repository whose base uses a module of a registry, and what a change to it may
// reach for.
type fork struct {
	t    *testing.T
	dir  string
	evil *listener
	ours *servers.OCI
	args []string
}

func newFork(t *testing.T) *fork {
	alone(t)
	f := &fork{t: t, dir: t.TempDir(), evil: listen(t), ours: servers.InProcess(t)}
	host := hostOfURL(f.evil.URL)
	f.args = []string{"--plain-http", host, "--plain-http", f.ours.Host}
	auth := base64.StdEncoding.EncodeToString([]byte("user:" + canary))
	folderOf(t, os.Getenv("HOME"), map[string]string{
		"config.json":      fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, auth),
		".git-credentials": "http://user:" + canary + "@" + host + "\n", ".gitconfig": "[credential]\n\thelper = store\n",
	})
	t.Setenv("CUE_REGISTRY", host+"+insecure")
	t.Setenv("CANARY", canary)
	pushModule(t, f.ours, "web", "v1", "package web\n\nmessage: string\nobjects: map: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\", data: {text: message}}\n")
	folderOf(t, f.dir, map[string]string{
		"ropewalk.yaml":   "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\n",
		"web.yaml":        specOf("web", "type: embedded, ref: webservice") + "  input: {image: \"a:1\"}\n",
		".ci/policy.yaml": f.policy("oci://" + f.ours.Host + "/*"),
	})
	folderOf(t, f.dir, map[string]string{"map.yaml": specOf("map", "type: oci, ref: \"oci://"+f.ours.Host+"/web:v1\"") + "  input: {message: one}\n"})
	t.Chdir(f.dir)
	good(t, append([]string{"lock", f.dir}, f.args...)...)
	f.git("init", "-q", "-b", "main", ".")
	folderOf(t, f.dir, map[string]string{".gitignore": "out/\n"})
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "one")
	require.Empty(t, f.evil.take())
	return f
}

func (f *fork) policy(source string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\ndefault: Deny\nrules:\n- {name: ours, effect: Allow, sources: [\"" + source + "\"]}\n"
}

func (f *fork) git(args ...string) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = f.dir
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, string(out))
}

// preview previews the working tree, and returns the exit code, the diagnostics and all
// four files.
func (f *fork) preview(args ...string) (code int, diagnostics, files string) {
	f.t.Helper()
	code, out, diagnostics := call(f.t, append(append([]string{"preview", "main"}, f.args...), args...)...)
	for _, name := range []string{"report.html", "comment.md", "report.json", "report.sarif"} {
		data, err := os.ReadFile(filepath.Join(f.dir, "out/preview", name))
		require.NoError(f.t, err, diagnostics)
		files += string(data)
	}
	return code, diagnostics, out + files
}

// undo takes a change back.
func (f *fork) undo() {
	f.git("reset", "-q", "--hard")
	f.git("clean", "-q", "-fd")
}

func component(kind, text string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: other}\nspec:\n  " + kind + ": " + text + "\n"
}

func TestAnUntrustedHeadReachesNoHost(t *testing.T) {
	f := newFork(t)
	at, host := f.evil.URL, hostOfURL(f.evil.URL)
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, change := range map[string]map[string]string{
		"a Git reference":            {"other.yaml": specOf("other", "type: git, ref: \""+at+"/x.git\"")},
		"a commit":                   {"other.yaml": specOf("other", "type: git, ref: \""+at+"/x.git?commit="+strings.Repeat("1", 40)+"\"")},
		"an artifact":                {"other.yaml": specOf("other", "type: oci, ref: \"oci://"+host+"/x:v1\"")},
		"an artifact by its digest":  {"other.yaml": specOf("other", "type: oci, ref: \"oci://"+host+"/x@"+digest+"\"")},
		"manifests in an artifact":   {"other.yaml": component("artifact", "{ref: \"oci://"+host+"/x@"+digest+"\"}")},
		"a chart of a repository":    {"other.yaml": component("helm", "{repo: \""+at+"\", chart: x, version: 1.0.0}")},
		"a chart of a registry":      {"other.yaml": component("helm", "{chart: \"oci://"+host+"/charts/x\", version: 1.0.0}")},
		"a base of a kustomization":  {"k/kustomization.yaml": "resources: ['" + at + "/x.yaml']\n", "other.yaml": component("kustomize", "{path: k}")},
		"a repository as a base":     {"k/kustomization.yaml": "resources: ['" + at + "/x.git//a?ref=v1']\n", "other.yaml": component("kustomize", "{path: k}")},
		"files of another place":     {"other.yaml": component("manifests", "{paths: [a]}") + "  source: {type: git, ref: \"" + at + "/x.git\"}\n"},
		"a policy":                   {"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {policies: [{name: p, cueRef: {type: oci, ref: \"oci://" + host + "/x:v1\"}}]}\n"},
		"another registry of web":    {"map.yaml": specOf("map", "type: oci, ref: \"oci://"+host+"/web:v1\"") + "  input: {message: one}\n"},
		"a dependency of its module": {"m/cue.mod/module.cue": "module: \"example.com/m@v0\"\nlanguage: version: \"v0.12.0\"\ndeps: \"example.com/dep@v0\": v: \"v0.1.0\"\n", "m/m.cue": "package m\n\nimport \"example.com/dep@v0:dep\"\n\nobjects: a: dep.a\n", "other.yaml": specOf("other", "type: path, ref: m")},
		"a lock of its own": {"other.yaml": specOf("other", "type: oci, ref: \"oci://"+host+"/x:v1\""), "ropewalk.lock": "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources:\n- {type: oci, ref: \"oci://" + host +
			"/x:v1\", revision: \"v1@" + digest + "\", pinned: \"oci://" + host + "/x@" + digest + "\", digest: \"" + digest + "\"}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			t.Cleanup(f.undo)
			folderOf(t, f.dir, change)
			_, why, _ := f.preview()
			require.NotEmpty(t, f.evil.take(), "a head that is trusted reaches the host: %s", why)
			code, diagnostics, files := f.preview("--untrusted-head")
			require.Equal(t, 1, code, diagnostics)
			require.Empty(t, f.evil.take())
			require.Contains(t, diagnostics, "not in")
			require.NotContains(t, diagnostics+files, canary)
			require.NotContains(t, diagnostics+files, base64.StdEncoding.EncodeToString([]byte("user:" + canary))[:20])
			if _, ok := change["ropewalk.lock"]; ok {
				require.Contains(t, files, "its own ropewalk.lock does not count")
			}
		})
	}
}

func TestAnUntrustedHeadIsRenderedWithWhatTheBaseLocks(t *testing.T) {
	f := newFork(t)
	t.Setenv("ROPEWALK_CACHE", t.TempDir())
	f.ours.Reset()
	folderOf(t, f.dir, map[string]string{"map.yaml": specOf("map", "type: oci, ref: \"oci://"+f.ours.Host+"/web:v1\"") + "  input: {message: two}\n"})
	require.NoError(t, os.Remove("ropewalk.lock"))
	code, diagnostics, files := f.preview("--untrusted-head", "--pull-policy", ".ci/policy.yaml")
	require.Zero(t, code, diagnostics)
	require.Contains(t, files, "Against main, the working tree changes 1 object in shop.")
	require.NotEmpty(t, f.ours.Lines())
	require.Empty(t, f.evil.take())
	// The environment of the machine is not for it.
	for _, flag := range []string{"--var-from-env=CANARY", "--runtime-from-env"} {
		code, _, diagnostics := call(t, "preview", "main", "--untrusted-head", flag)
		require.Equal(t, 2, code)
		require.Contains(t, diagnostics, "--untrusted-head and --")
	}
}

func TestThePullPolicyIsThatOfTheBase(t *testing.T) {
	f := newFork(t)
	ref := "type: git, ref: \"" + f.evil.URL + "/x.git\""
	for name, allow := range map[string]func(){
		"the file is another one": func() {
			folderOf(t, f.dir, map[string]string{".ci/policy.yaml": f.policy(f.evil.URL + "/*")})
		},
		"the file is a link": func() {
			folderOf(t, f.dir, map[string]string{".ci/lax.yaml": f.policy(f.evil.URL + "/*")})
			require.NoError(t, os.Remove(".ci/policy.yaml"))
			require.NoError(t, os.Symlink("lax.yaml", ".ci/policy.yaml"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			t.Cleanup(f.undo)
			folderOf(t, f.dir, map[string]string{"other.yaml": specOf("other", ref)})
			allow()
			good := []string{"render", f.dir, "--pull-policy", ".ci/policy.yaml"}
			_, _, why := call(t, append(good, f.args...)...)
			require.NotEmpty(t, f.evil.take(), "the policy of the head allows it: %s", why)
			code, diagnostics, files := f.preview("--pull-policy", ".ci/policy.yaml")
			require.Equal(t, 1, code, diagnostics)
			require.Empty(t, f.evil.take())
			require.Contains(t, diagnostics, "pull policy")
			require.Contains(t, files, "The pull policy .ci/policy.yaml is that of main: the head has another one.")
		})
	}
	f.t = t
	// A change that was made before the policy was there has that of main too.
	f.git("checkout", "-q", "-b", "old")
	f.git("checkout", "-q", "main")
	folderOf(t, f.dir, map[string]string{".ci/policy.yaml": f.policy("oci://nowhere.example/*")})
	f.git("commit", "-q", "-a", "-m", "stricter")
	f.git("checkout", "-q", "old")
	folderOf(t, f.dir, map[string]string{"web.yaml": specOf("web", "type: embedded, ref: webservice") + "  input: {image: \"a:2\"}\n"})
	code, diagnostics, files := f.preview("--pull-policy", ".ci/policy.yaml")
	require.Equal(t, 1, code, diagnostics)
	require.Contains(t, diagnostics, "pull policy")
	require.Contains(t, files, "at the merge base")
}

func TestAHeadReadsNothingOutsideOfTheRepository(t *testing.T) {
	f := newFork(t)
	outside := t.TempDir()
	folderOf(t, outside, map[string]string{
		"env": "CANARY=" + canary + "\n", "values.yaml": "message: " + canary + "\n", "given.yaml": "message: given\n",
		"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, labels: {a: " + canary + "}}\n",
	})
	up, err := filepath.Rel(f.dir, outside)
	require.NoError(t, err)
	workload := "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: other}\nspec: {containers: {a: {image: \"a:1\", variables: {A: \"${CANARY}\"}}}}\n"
	project := func(file string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {workloads: {envFiles: [\"" + file + "\"]}}\n"
	}
	for name, change := range map[string]struct {
		files map[string]string
		links map[string]string
		flags []string
	}{
		"a path that leaves it":              {files: map[string]string{"other.yaml": component("manifests", "{paths: [\""+up+"/map.yaml\"]}")}},
		"a path from the root":               {files: map[string]string{"other.yaml": component("manifests", "{paths: [\""+outside+"/map.yaml\"]}")}},
		"a link out of it":                   {files: map[string]string{"other.yaml": component("manifests", "{paths: [link.yaml]}")}, links: map[string]string{"link.yaml": outside + "/map.yaml"}},
		"a folder out of it":                 {files: map[string]string{"other.yaml": component("manifests", "{paths: [link]}")}, links: map[string]string{"link": outside}},
		"a file of variables of the machine": {files: map[string]string{"other.yaml": workload, "ropewalk.yaml": project(outside + "/env")}},
		"a link to variables":                {files: map[string]string{"other.yaml": workload, "ropewalk.yaml": project("env")}, links: map[string]string{"env": outside + "/env"}},
		"what lies beside the file of a flag": {files: map[string]string{"other.yaml": component("manifests", "{paths: [.given/0/map.yaml]}")},
			flags: []string{"--values", "map:" + outside + "/given.yaml"}},
		"a file of a flag that is a link": {links: map[string]string{"values.yaml": outside + "/values.yaml"}, flags: []string{"--values", "map:values.yaml"}},
		"a file of variables of a flag":   {files: map[string]string{"other.yaml": workload}, links: map[string]string{"env": outside + "/env"}, flags: []string{"--env-file", "env"}},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			t.Cleanup(f.undo)
			folderOf(t, f.dir, change.files)
			for name, to := range change.links {
				require.NoError(t, os.Symlink(to, filepath.Join(f.dir, name)))
			}
			code, diagnostics, files := f.preview(append(change.flags, "--untrusted-head")...)
			require.NotZero(t, code, diagnostics)
			require.NotContains(t, diagnostics+files, canary)
		})
	}
}
