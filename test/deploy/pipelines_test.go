// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/test/servers"
)

// What starts a pipeline.
const (
	ownChange  = "a change of the repository"
	forkChange = "a change of a fork"
	schedule   = "the schedule"
)

// jobNames are the jobs of each pipeline, in the order in which they run.
func jobNames() []string { return []string{"preview", "comment", "push", "prune"} }

// events are those that a condition holds for, and whether it also holds after a failure. A
// condition that is not here is none that this test knows.
func events(t *testing.T, condition string) (of []string, always bool) {
	t.Helper()
	rest, always := strings.CutPrefix(condition, "!cancelled() && ")
	of, ok := map[string][]string{
		"github.event_name == 'pull_request'":                                {ownChange, forkChange},
		"github.event.pull_request.head.repo.full_name == github.repository": {ownChange},
		"github.event_name == 'schedule'":                                    {schedule},
		`$CI_PIPELINE_SOURCE == "merge_request_event"`:                       {ownChange, forkChange},
		`$CI_PIPELINE_SOURCE == "merge_request_event" && $CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID`: {ownChange},
		`$CI_PIPELINE_SOURCE == "schedule"`: {schedule},
	}[rest]
	require.True(t, ok, "unknown condition %q", condition)
	return of, always
}

// step is a text for a shell.
type step struct {
	text   string
	env    map[string]string
	always bool
}

// job is one of a pipeline.
type job struct {
	on     []string
	always bool
	steps  []step
}

// pipeline is a file of deploy/previews.
type pipeline struct {
	variables map[string]string
	jobs      map[string]job
}

// workflow reads a file for GitHub or Gitea.
func workflow(t *testing.T, name string) pipeline {
	t.Helper()
	var file struct {
		Permissions map[string]string
		Env         map[string]string
		Jobs        map[string]struct {
			If, Needs   string
			Permissions map[string]string
			Steps       []struct {
				If, Run, Uses string
				With, Env     map[string]any
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, name)), &file))
	out := pipeline{variables: file.Env, jobs: map[string]job{}}
	for name, j := range file.Jobs {
		made := job{}
		made.on, made.always = events(t, j.If)
		require.Equal(t, name == "comment" || name == "push", j.Needs == "preview", name)
		if name == "preview" {
			require.Empty(t, j.Permissions)
		}
		for _, s := range j.Steps {
			if strings.HasPrefix(s.Uses, "actions/checkout@") {
				require.Equal(t, false, s.With["persist-credentials"], "rendering sees no token")
			}
			env := map[string]string{}
			for key, value := range s.Env {
				env[key] = value.(string)
			}
			// A text of a pull request is data only in a variable.
			require.NotContains(t, s.Run, "${{")
			if s.Run != "" {
				made.steps = append(made.steps, step{text: s.Run, env: env, always: s.If == "always()"})
			}
		}
		out.jobs[name] = made
	}
	return out
}

// gitlab reads the file for GitLab.
func gitlab(t *testing.T, name string) pipeline {
	t.Helper()
	var jobs map[string]struct {
		Needs  []string
		Rules  []struct{ If, When string }
		Script []string
	}
	var file map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, name)), &file))
	out := pipeline{variables: map[string]string{}, jobs: map[string]job{}}
	for key, value := range file["variables"].(map[string]any) {
		out.variables[key] = value.(string)
	}
	delete(file, "variables")
	delete(file, ".ropewalk")
	text, err := yaml.Marshal(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &jobs))
	for name, j := range jobs {
		require.Len(t, j.Rules, 1, name)
		made := job{always: j.Rules[0].When == "always", steps: []step{{text: strings.Join(j.Script, "\n")}}}
		made.on, _ = events(t, j.Rules[0].If)
		require.Equal(t, name == "comment" || name == "push", slices.Equal(j.Needs, []string{"preview"}), name)
		out.jobs[name] = made
	}
	return out
}

// checkout is a clone with the branch main of its origin, and a branch that is worked on.
type checkout struct{ dir string }

func (c checkout) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", c.dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %s\n%s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// commit writes a file and commits it.
func (c checkout) commit(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
	c.git(t, "add", "-A")
	c.git(t, "commit", "-q", "-m", "change "+name)
}

const helloConfig = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: %}\n"

func newCheckout(t *testing.T) checkout {
	t.Helper()
	origin, c := checkout{t.TempDir()}, checkout{t.TempDir()}
	origin.git(t, "init", "-q", "-b", "main")
	origin.commit(t, "ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: hello}\n"+
		"spec:\n  context: {namespace: hello}\n  previews: {namespace: '${namespace}-pr-${preview}', host: 'pr-${preview}.${host}'}\n"+
		"---\napiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: hello}\nspec: {manifests: {paths: [config.yaml]}}\n")
	origin.commit(t, "config.yaml", strings.ReplaceAll(helloConfig, "%", "hello"))
	c.git(t, "clone", "-q", origin.dir, ".")
	c.git(t, "switch", "-q", "-c", "change")
	return c
}

// world is where a pipeline runs.
type world struct {
	pipeline

	forge    *forge
	registry *servers.OCI
	bin      string
	at       checkout
	// docker is the folder with the credentials of the test itself.
	docker string
	// env is what the forge gives to each job, over the variables of the file, and expressions
	// what those of the file are.
	env, expressions map[string]string
	// private are the texts that only jobs with rights may have.
	private []string
}

// run runs the jobs for an event, and reports whether the pipeline is good.
func (w *world) run(t *testing.T, event string) (good bool) {
	t.Helper()
	good = true
	require.NoError(t, os.RemoveAll(filepath.Join(w.at.dir, "out")))
	require.ElementsMatch(t, jobNames(), slices.Collect(maps.Keys(w.jobs)))
	for _, name := range jobNames() {
		j := w.jobs[name]
		if !slices.Contains(j.on, event) || !good && !j.always {
			continue
		}
		dir := w.at.dir
		if name == "comment" {
			dir = t.TempDir() // It has no checkout.
			require.NoError(t, os.CopyFS(filepath.Join(dir, "out/preview"), os.DirFS(filepath.Join(w.at.dir, "out/preview"))))
		}
		failed := false
		for _, s := range j.steps {
			if !failed || s.always {
				failed = !w.step(t, dir, event, s, name == "preview") || failed
			}
		}
		good = good && !failed
	}
	return good
}

// step runs the text of a step, which in a job without rights gets nothing that is private.
func (w *world) step(t *testing.T, dir, event string, s step, bare bool) bool {
	t.Helper()
	env := map[string]string{"PATH": w.bin + ":" + os.Getenv("PATH"), "HOME": t.TempDir(), "no_proxy": "*"}
	maps.Copy(env, w.env)
	for key, value := range s.env {
		expression := regexp.MustCompile(`^\$\{\{ (.*) \}\}$`).FindStringSubmatch(value)
		require.NotNil(t, expression, value)
		filled, ok := w.expressions[expression[1]]
		require.True(t, ok, "unknown expression %q", value)
		env[key] = filled
	}
	for _, key := range []string{"PREVIEW_TOKEN", "CI_REGISTRY_PASSWORD"} {
		if event == forkChange {
			delete(env, key) // GitLab runs it in the fork.
		}
	}
	for key, value := range w.variables {
		if _, ours := w.env[key]; !ours {
			env[key] = os.Expand(value, func(name string) string { return env[name] })
		}
	}
	var list []string
	for key, value := range env {
		if (bare && w.env["PREVIEW_TOKEN"] == "") || event == forkChange {
			require.NotContains(t, w.private, value, key)
		}
		list = append(list, key+"="+value)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", s.text)
	cmd.Dir, cmd.Env = dir, list
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", s.text, out)
	for _, text := range w.private {
		require.NotContains(t, string(out), text)
	}
	return err == nil
}

// digest is that of the artifact of the preview, "" where there is none, and when it expires.
func (w *world) digest(t *testing.T) (digest, expires string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.bin, "ropewalk"), "artifact", "inspect", w.env["REPOSITORY"]+":pr-7", "--format", "json")
	cmd.Env = []string{"DOCKER_CONFIG=" + w.docker, "HOME=" + t.TempDir()}
	out, err := cmd.Output()
	if err != nil {
		return "", ""
	}
	var seen struct {
		Digest      string
		Annotations map[string]string
		Files       []struct{ Path string }
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Len(t, seen.Files, 1)
	require.Contains(t, seen.Files[0].Path, "hello-pr-7")
	return seen.Digest, seen.Annotations["dev.ropewalk.expires"]
}

// TestThePipelinesOfPreviews runs the steps of the files in deploy/previews, in their order,
// against a forge and a registry.
func TestThePipelinesOfPreviews(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "git", "jq"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv(servers.Required) != "required" {
			t.Skip(err)
		}
	}
	command, err := filepath.Abs(install(t))
	require.NoError(t, err)
	for name, make := range map[string]func(*testing.T, *world){"github": onGitHub, "gitea": onGitea, "gitlab": onGitLab} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, command)
			make(t, w)
			w.at.commit(t, "config.yaml", strings.ReplaceAll(helloConfig, "%", "hallo"))
			others := len(w.forge.comments)

			// The first run makes the comment and the artifact.
			require.True(t, w.run(t, ownChange))
			require.Len(t, w.forge.comments, others+1)
			first := w.forge.comments[others].Body
			require.Contains(t, first, "## Preview of hello")
			digest, expires := w.digest(t)
			require.NotEmpty(t, digest)
			at, err := time.Parse(time.RFC3339, expires)
			require.NoError(t, err)
			require.InDelta(t, 168, time.Until(at).Hours(), 1)

			// The second one replaces both.
			w.env["EXPIRES"] = "1s"
			w.at.commit(t, "config.yaml", strings.ReplaceAll(helloConfig, "%", "servus")+"immutable: true\n")
			require.True(t, w.run(t, ownChange))
			require.Len(t, w.forge.comments, others+1, "it is the same comment")
			second := w.forge.comments[others].Body
			require.NotEqual(t, first, second)
			again, _ := w.digest(t)
			require.NotEqual(t, digest, again)

			// A change that does not render fails, and says so in the comment.
			w.at.commit(t, "config.yaml", "apiVersion: v1\nkind: [\n")
			require.False(t, w.run(t, ownChange))
			require.Len(t, w.forge.comments, others+1)
			require.Contains(t, w.forge.comments[others].Body, "config.yaml:")
			require.NotEqual(t, second, w.forge.comments[others].Body)
			still, _ := w.digest(t)
			require.Equal(t, again, still, "what does not render is not pushed")

			// A fork gets a report, and neither a token nor an answer of the forge or the registry.
			w.at.commit(t, "config.yaml", strings.ReplaceAll(helloConfig, "%", "ciao"))
			calls := w.forge.calls
			w.registry.Reset()
			require.True(t, w.run(t, forkChange))
			require.FileExists(t, filepath.Join(w.at.dir, "out/preview/report.html"))
			require.Equal(t, calls, w.forge.calls)
			require.Empty(t, w.registry.Requests())

			// What has expired is deleted by the schedule: the second push, and not the first.
			w.forge.versions = map[int]string{11: digest, 12: again}
			time.Sleep(1100 * time.Millisecond)
			require.True(t, w.run(t, schedule))
			if name == "github" {
				require.Equal(t, map[int]string{11: digest}, w.forge.versions)
				return
			}
			gone, _ := w.digest(t)
			require.Empty(t, gone)
		})
	}
}

// previewsFolder is what these tests are about.
const previewsFolder = root + "/deploy/previews"

const (
	forgeToken  = "token-of-the-forge"
	registryKey = "token-of-the-registry"
)

func newWorld(t *testing.T, command string) *world {
	t.Helper()
	w := &world{bin: t.TempDir(), at: newCheckout(t), forge: newForge(t), private: []string{forgeToken, registryKey}}
	require.NoError(t, os.Symlink(command, filepath.Join(w.bin, "ropewalk")))
	w.env = map[string]string{}
	return w
}
