// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Variables of a request. Those that begin with ARGOCD_ENV_ are the user's.
const (
	varApp         = "ARGOCD_APP_NAME"
	varProject     = "ARGOCD_APP_PROJECT_NAME"
	varRepository  = "ARGOCD_APP_SOURCE_REPO_URL"
	varNonce       = "ARGOCD_GIT_ASKPASS_NONCE" //nolint:gosec // the name of one
	varNamespace   = "ARGOCD_APP_NAMESPACE"
	varPath        = "ARGOCD_APP_SOURCE_PATH"
	varParameters  = "ARGOCD_APP_PARAMETERS"
	varKubeVersion = "KUBE_VERSION"
	varEnvironment = "ARGOCD_ENV_ROPEWALK_ENV"
	varPreview     = "ARGOCD_ENV_ROPEWALK_PREVIEW"
	varSet         = "ARGOCD_ENV_ROPEWALK_SET"
	varAllowEmpty  = "ARGOCD_ENV_ROPEWALK_ALLOW_EMPTY"
)

// Bounds of a request: its variables, how many bytes ROPEWALK_SET and the parameters may
// have, which requests hold while they wait, and how many options these make. An Application
// is smaller than a megabyte and a half.
const (
	maxVariables = 10_000
	maxSettings  = 1 << 20
	maxOptions   = 10_000
)

// inputs is all of a request that a render depends on, and nothing else: not the
// revision, because Argo CD uses the manifests of one for another.
type inputs struct {
	// Path is the folder of the application in the repository; "." is its root.
	Path string
	// Checksum covers the archive, and so all files.
	Checksum string
	// Scope is the credential scope: the Argo CD project, and the repository if its
	// credentials are offered.
	Scope string
	// Name is the name of the application. Its spec gets the name if the folder is a module and no
	// document names the spec.
	Name        string
	Namespace   string
	KubeVersion string
	Environment string
	Preview     string `json:",omitempty"`
	Values      []string
	Set         []string
	Images      []string
	Runtime     []string `json:",omitempty"`
	AllowEmpty  bool
}

// request is one of a repo-server.
type request struct {
	inputs
	// bare is inputs without what parameters set, for their defaults.
	bare inputs
	// app is the application.
	app string
	// project is the Argo CD project; it is part of the scope.
	project string
	// repository is the URL of the source, and nonce the word for its credentials, ""
	// if they are not offered. Neither changes a render.
	repository, nonce string
	// from has the field in which the user has written each input.
	from origins
	// settings counts the bytes of ROPEWALK_SET and the parameters.
	settings int
	// sent is the folder of the repository that the archive holds, "" for all of it.
	sent string
}

// tenant returns the name under which requests share slots: the project, or else the repository or
// the application.
func (r request) tenant() string { return cmp.Or(r.project, r.repository, r.app) }

// places returns how many places of the queue the request takes while it waits: one holds what a
// connection has received, and further ones the values that its parameters set.
func (r request) places() int { return 1 + r.settings*messageCost/(2*Window) }

// requestOf reads the first message of a stream.
func requestOf(m *wire.Metadata) (request, error) {
	if m == nil {
		return request{}, fmt.Errorf("%w: the stream does not begin with its metadata", errRequest)
	}
	if len(m.GetEnv()) > maxVariables {
		return request{}, fmt.Errorf("%w: more than %d variables", errRequest, maxVariables)
	}
	env := make(map[string]string, len(m.GetEnv()))
	for _, v := range m.GetEnv() {
		env[v.GetName()] = v.GetValue()
	}
	// app_name is the last element of the path; several applications have the same.
	return newRequest(m.GetAppName(), m.GetAppRelPath(), m.GetChecksum(), env)
}

// newRequest returns the request of an application by the path of its folder, with the checksum of
// the archive and the variables.
func newRequest(app, folder, checksum string, env map[string]string) (request, error) {
	if err := checkVariables(env); err != nil {
		return request{}, err
	}

	// The variables of Argo CD and of the user become inputs.
	r := request{
		app: cmp.Or(env[varApp], app), project: env[varProject],
		inputs: inputs{
			Path: path.Clean(cmp.Or(strings.TrimSuffix(folder, "/"), ".")), Checksum: strings.ToLower(checksum),
			Scope: env[varProject], Name: env[varApp], Namespace: env[varNamespace],
			Environment: env[varEnvironment], Preview: env[varPreview], AllowEmpty: env[varAllowEmpty] == "true",
		},
	}
	r.repository = env[varRepository]
	r.nonce = env[varNonce]
	if r.nonce != "" {
		r.Scope += " " + r.repository
	}
	if version := env[varKubeVersion]; version != "" {
		var ok bool
		r.KubeVersion, ok = spec.ParseKubeVersion(version)
		if !ok {
			return request{}, fmt.Errorf("%w: %s: expected a version such as 1.36 or v1.36.3, got %q", errRequest, varKubeVersion, cut(version, 100))
		}
	}

	// Paths and sizes are checked before anything is read.
	r.sent = sent(env[varPath], r.Path)
	if !fs.ValidPath(r.Path) {
		return request{}, fmt.Errorf("%w: the path %q leaves the repository", errRequest, folder)
	}
	if len(r.Checksum) != hex.EncodedLen(sha256.Size) {
		return request{}, fmt.Errorf("%w: the checksum is not a SHA-256 digest in hex", errRequest)
	}
	r.settings = len(env[varSet]) + len(env[varParameters])
	if r.settings > maxSettings {
		return request{}, fmt.Errorf("%w: ROPEWALK_SET and the parameters have %d bytes, and %d are allowed: use a values file",
			errRequest, r.settings, maxSettings)
	}

	// Variables come before parameters, which may override them.
	for line := range strings.Lines(env[varSet]) {
		line = strings.TrimSpace(line)
		if line != "" {
			r.Set = append(r.Set, line)
		}
	}
	if empty := env[varAllowEmpty]; empty != "" && empty != "true" && empty != "false" {
		return request{}, fmt.Errorf("%w: ROPEWALK_ALLOW_EMPTY: expected true or false, got %q", errRequest, cut(empty, 100))
	}
	params, err := parameters(env[varParameters])
	if err != nil {
		return request{}, err
	}
	r.Set = slices.Clip(r.Set)
	if len(r.Set) > maxOptions {
		return request{}, fmt.Errorf("%w: ROPEWALK_SET has more than %d lines: use a values file", errRequest, maxOptions)
	}

	// A mistake is reported at the field that has added the value.
	r.bare = r.inputs
	r.from = origins{"--env " + r.Environment: "ROPEWALK_ENV", "--preview " + r.Preview: "ROPEWALK_PREVIEW"}
	r.from.note(inputs{Environment: r.Environment, Preview: r.Preview}, r.inputs, "ROPEWALK_SET", true)
	names := map[string]bool{}
	for _, p := range params {
		if names[p.Name] {
			return request{}, p.fail("the parameter is given twice")
		}
		names[p.Name] = true
		before := r.inputs
		if err := p.apply(&r.inputs); err != nil {
			return request{}, err
		}
		if n := r.optionCount(); n > maxOptions {
			return request{}, fmt.Errorf("%w: ROPEWALK_SET and the parameters set more than %d values: use a values file", errRequest, maxOptions)
		}
		r.from.note(before, r.inputs, inParameters+": "+cut(spec.SetTarget(p.Name), 200), !p.isInput())
		if !p.isInput() && p.Name != paramImages {
			_ = p.apply(&r.bare) // It has been applied once.
		}
	}
	return r, nil
}

// checkVariables refuses a variable of this plugin that is not known: a slip in its name would
// render another environment without a word. Others are the user's own.
func checkVariables(env map[string]string) error {
	const prefix, ours = "ARGOCD_ENV_", "ROPEWALK"
	var names []string
	for _, name := range []string{varEnvironment, varSet, varAllowEmpty, varPreview} {
		names = append(names, strings.TrimPrefix(name, prefix+ours))
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		// What all have in common says nothing of which one was meant.
		suffix, ok := strings.CutPrefix(name, prefix+ours)
		if !ok || !strings.HasPrefix(suffix, "_") || slices.Contains(names, suffix) {
			continue
		}
		hint := "known: " + ours + strings.Join(names, ", "+ours)
		if near, ok := object.Nearest(suffix, names); ok {
			hint = fmt.Sprintf("did you mean %s? %s", ours+near, hint)
		}
		return fmt.Errorf("%w: the variable %s is not known: %s", errRequest, cut(ours+suffix, 100), hint)
	}
	return nil
}

// sent returns the folder of the repository that an archive holds. The repo-server leaves out the
// first folders of the path of an application if it sends only what manifest-generate-paths names.
func sent(source, app string) string {
	source = path.Clean(strings.Trim(source, "/"))
	if app == "." && source != "." {
		return source
	}
	folder, ok := strings.CutSuffix(source, "/"+app)
	if !ok {
		return ""
	}
	return folder
}

// optionCount returns how many values the request sets.
func (w inputs) optionCount() int { return len(w.Set) + len(w.Values) + len(w.Images) + len(w.Runtime) }

// key returns a text that is the same for requests that are rendered alike.
func (w inputs) key() string {
	data, err := json.Marshal(w)
	if err != nil {
		panic("argocd: a request always encodes: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// options returns the options by which the host loads the files of the repository. Positions begin
// at its root, as in a pull request.
func (w inputs) options(files fs.FS, limits evaluate.Limits) host.Options {
	return host.Options{
		FS: files, Args: []string{w.Path}, Dir: ".", Root: ".", Name: w.Name,
		Environment: w.Environment, Preview: w.Preview, Values: w.Values, Set: w.Set, Images: w.Images, Runtime: w.Runtime,
		Context: spec.Context{Namespace: w.Namespace, KubeVersion: w.KubeVersion, Engine: string(dialect.ArgoCD)},
		Emit:    emit.Options{Dialect: dialect.ArgoCD},
		Limits:  limits, AllowEmpty: w.AllowEmpty,
	}
}
