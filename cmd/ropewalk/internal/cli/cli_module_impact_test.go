// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/impact"
	"github.com/ropewalk/ropewalk/test/servers"
)

// impactOf runs module impact, and returns its report as lines: verdict, path, name,
// environment, version and errors.
func impactOf(t *testing.T, want int, args ...string) (counts map[impact.Verdict]int, lines []string) {
	t.Helper()
	code, out, says := call(t, append([]string{"module", "impact", "--format", "json"}, args...)...)
	require.Equal(t, want, code, "%s%s", out, says)
	var data struct {
		Kind      string
		Counts    map[impact.Verdict]int
		Consumers []struct {
			Verdict, Path, Name, Environment, Note string
			From                                   []string
			Errors                                 []struct{ Message string }
		}
		Unused []struct{ Path, Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &data), out)
	require.Equal(t, impact.Kind, data.Kind)
	for _, c := range data.Consumers {
		line := []string{c.Verdict, c.Path, c.Name, c.Environment, strings.Join(c.From, " ")}
		for _, e := range c.Errors {
			line = append(line, e.Message)
		}
		lines = append(lines, strings.TrimRight(strings.Join(line, "|"), "|"))
	}
	for _, c := range data.Unused {
		lines = append(lines, "unused|"+c.Path+"|"+c.Name)
	}
	return data.Counts, lines
}

// TestTheImpactOfAVersionOnConsumersOfAllKinds renders a project with environments, a Transform, a
// bundle and a repository, and reads what an Installation was built of.
func TestTheImpactOfAVersionOnConsumersOfAllKinds(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	base := strings.TrimSuffix(u.at(""), ":")
	plain := []string{"--plain-http", u.server.Host, "--plain-http", hostOfURL(u.git)}
	code, text := u.lock()
	require.Zero(t, code, text)
	artifact := "oci://" + u.server.Host + "/shop"
	good(t, append([]string{"build", u.project, "--env", "prod", "--to", artifact + ":v1"}, plain...)...)

	u.edit("replicas: *2 | int", "replicas: *3 | int & <5")
	u.publish("v0.2.0", "--skip-checks")
	dir := filepath.Dir(u.project)
	use := func(name, ref string) string { return specOf(name, "type: oci, ref: \""+ref+"\"") }
	writeIn(t, dir, map[string]string{
		"lone/web.yaml":    use("lone", base+":v0.1.0") + "  input: {image: \"nginx:1.29\"}\n",
		"lone/other.yaml":  specOf("other", "type: git, ref: \""+u.git+"/web.git?tag=v1.0.0\""),
		"clusters/eu.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Installation\nmetadata: {name: eu}\nspec:\n  environment: prod\n  registry: oci://" + u.server.Host + "/eu\n  engine: flux\n  components:\n    - {name: shop, from: \"" + artifact + "\", version: v1}\n",
	})
	timoni := filepath.Join(t.TempDir(), "timoni")
	good(t, "module", "init", timoni, "--from", "timoni", "--name", "acme.example/toy@v0")
	toy := func(version string) (out outcome) {
		require.NoError(t, json.Unmarshal([]byte(good(t, append([]string{"module", "publish", "oci://" + u.server.Host + "/toy:" + version, timoni, "--skip-checks", "--format", "json"}, plain...)...)), &out))
		return out
	}
	bundle := filepath.Join("bundle", "bundle.cue")
	writeIn(t, dir, map[string]string{bundle: bundleOf(u.server.Host, toy("1.0.0").Digest)})
	u.repo.Commit(map[string]string{"deploy/web.yaml": use("remote", base+":v0.1.0") + "  input: {image: \"nginx:1.29\", replicas: 7}\n"}, "a consumer")
	t.Chdir(dir)

	repository := u.git + "/web.git?branch=main//deploy"
	args := append([]string{base + ":v0.2.0", "shop", ".", repository}, plain...)
	counts, lines := impactOf(t, command.Findings, args...)
	require.Equal(t, []string{
		"refused|" + u.git + "/web//deploy/web.yaml|remote||v0.1.0",
		"refused|shop|shop|prod|v0.1.0",
		"changed|lone/web.yaml|lone||v0.1.0",
		"changed|shop|shop|dev|v0.1.0",
		"none|clusters/eu.yaml|eu/shop|prod|v0.1.0",
		"unused|bundle|toys", "unused|lone/other.yaml|other",
	}, withoutMessages(lines))
	require.Equal(t, []int{2, 2}, []int{counts[impact.Refused], counts[impact.Unused]})

	code, out, says := call(t, append([]string{"module", "impact"}, args...)...)
	require.Equal(t, command.Findings, code, says)
	require.Contains(t, out, "deploy/web.yaml:6:42: evaluate: spec.input.replicas: ", "its own line")
	require.Contains(t, out, "shop/ropewalk.yaml:9:25: evaluate: spec.input.replicas: ")
	require.Contains(t, out, "~ Deployment.apps default/lone: spec.replicas")
	require.Contains(t, out, artifact+":v1 was built with it, and stays as it is")
	_, again, _ := call(t, append([]string{"module", "impact"}, args...)...)
	require.Equal(t, out, again)

	// An instance of a bundle is a use like any other.
	_, lines = impactOf(t, command.Good, append([]string{"oci://" + u.server.Host + "/toy", ".", "--with", timoni}, plain...)...)
	require.Equal(t, "none|bundle|toys||1.0.0", lines[0])
	toy("1.1.0")
	_, lines = impactOf(t, command.Good, append([]string{"oci://" + u.server.Host + "/toy:1.1.0", "bundle"}, plain...)...)
	require.Equal(t, []string{"none|bundle|toys||1.0.0"}, lines, "the digest is that of the old one")

	// The lock says what the old side is, though its tag leads elsewhere now.
	u.edit("replicas: *3 | int & <5", "replicas: *4 | int")
	writeIn(t, u.project, map[string]string{"web.yaml": strings.ReplaceAll(upgradeSpec, "WEB:v0.1.0", base+":0.1")})
	code, text = u.lock()
	require.Zero(t, code, text)
	u.publish("v0.1.1", "--skip-checks")
	_, lines = impactOf(t, command.Good, append([]string{base + ":v0.1.1", "shop", "--env", "dev", "--pull"}, plain...)...)
	require.Equal(t, []string{"changed|shop|shop|dev|0.1"}, withoutMessages(lines))
}

// TestBundlesOfAnyNameAreConsumers searches folders that hold nothing but bundles, and a repository
// for the file of one.
func TestBundlesOfAnyNameAreConsumers(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	plain := []string{"--plain-http", u.server.Host, "--plain-http", hostOfURL(u.git)}
	timoni := filepath.Join(t.TempDir(), "timoni")
	good(t, "module", "init", timoni, "--from", "timoni", "--name", "acme.example/toy@v0")
	toy := "oci://" + u.server.Host + "/toy"
	good(t, append([]string{"module", "publish", toy + ":1.0.0", timoni, "--skip-checks"}, plain...)...)
	text := strings.Replace(bundleOf(u.server.Host, ""), `, digest: ""`, "", 1)
	u.repo.Commit(map[string]string{"deploy/toys.cue": text}, "a bundle")
	dir := writeIn(t, t.TempDir(), map[string]string{
		"eu/bundle.cue": text, "us/bundle.cue": text,
		"named/flux.cue": text, "named/sync.cue": strings.Replace(text, "image:", "imagge:", 1), "named/runtime.cue": "runtime: {apiVersion: \"v1alpha1\", name: \"x\"}\n",
		"other/none.cue": strings.ReplaceAll(text, "/toy\"", "/boat\""), "specs/web.yaml": specOf("web", "type: oci, ref: \"oci://"+u.server.Host+"/boat:1.0.0\""), "specs/db.cue": text,
	})
	t.Chdir(dir)

	args := append([]string{toy, "--with", timoni}, plain...)
	_, lines := impactOf(t, command.Good, append(args, "eu", "us", u.git+"/web.git?branch=main//deploy/toys.cue")...)
	require.Equal(t, []string{"none|eu|toys||1.0.0", "none|" + u.git + "/web//deploy/toys.cue|toys||1.0.0", "none|us|toys||1.0.0"}, lines)
	_, lines = impactOf(t, command.Good, append(args, ".")...)
	require.Equal(t, []string{
		"broken|named/sync.cue|toys||1.0.0",
		"none|eu|toys||1.0.0", "none|named/flux.cue|toys||1.0.0", "none|specs/db.cue|toys||1.0.0", "none|us|toys||1.0.0",
		"unused|other/none.cue|toys", "unused|specs/web.yaml",
	}, withoutMessages(lines))
	_, lines = impactOf(t, command.Good, append(args, "named", "specs")...)
	require.Equal(t, []string{"broken|named/sync.cue|toys||1.0.0", "none|named/flux.cue|toys||1.0.0", "none|specs/db.cue|toys||1.0.0", "unused|specs/web.yaml"}, withoutMessages(lines))
}

// bundleOf is a bundle of Timoni with an instance of a version, which has a digest.
func bundleOf(host, digest string) string {
	return `bundle: {
	apiVersion: "v1alpha1"
	name:       "toys"
	instances: toy: {
		module: {url: "oci://` + host + `/toy", version: "1.0.0", digest: "` + digest + `"}
		namespace: "toys"
		values: image: "nginx:1.29"
	}
}
`
}

// withoutMessages are lines with their first five fields.
func withoutMessages(lines []string) (out []string) {
	for _, line := range lines {
		fields := strings.Split(line, "|")
		out = append(out, strings.TrimRight(strings.Join(fields[:min(5, len(fields))], "|"), "|"))
	}
	return out
}

// TestAConsumerThatIsNotFetchedStopsNoOther: it has a verdict, and the exit code is 3.
func TestAConsumerThatIsNotFetchedStopsNoOther(t *testing.T) {
	alone(t)
	u := newUpgradable(t, servers.InProcess(t))
	base := strings.TrimSuffix(u.at(""), ":")
	plain := []string{"--plain-http", u.server.Host, "--plain-http", hostOfURL(u.git)}
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	slow := "http://" + silent.Addr().String() + "/slow.git"
	plain = append(plain, "--plain-http", silent.Addr().String(), "--consumer-timeout", "3s")

	started := time.Now()
	_, lines := impactOf(t, command.Environment, append([]string{base + ":v0.1.0", u.project, slow, u.git + "/gone.git"}, plain...)...)
	require.Less(t, time.Since(started), time.Minute)
	require.Len(t, lines, 4)
	require.Contains(t, strings.Join(lines, "\n"), "broken|"+slow+"||||not done within 3s")
	require.Contains(t, strings.Join(lines, "\n"), "broken|"+u.git+"/gone.git|")
	require.Equal(t, "none|"+u.project+"|shop|dev|v0.1.0", lines[2])

	code, _, says := call(t, append([]string{"module", "impact", base + ":v9.0.0", u.project}, plain...)...)
	require.Equal(t, command.Environment, code)
	require.Contains(t, says, base+":v9.0.0: ")

	u.server.Fault(func(*http.Request) (http.Handler, bool) { return servers.Reset(), true })
	code, _, says = call(t, append([]string{"module", "impact", base + ":v0.1.0", u.project, "--pull"}, plain...)...)
	require.Equal(t, command.Environment, code, says)
}

// TestTheImpactOfAPolicyAndOfProvisioners: a project uses both by a reference, as specs use a module.
func TestTheImpactOfAPolicyAndOfProvisioners(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	plain := []string{"--plain-http", server.Host}
	modules := t.TempDir()
	publish := func(name, from, version string, edits ...string) string {
		dir, at := filepath.Join(modules, name), "oci://"+server.Host+"/acme.example/"+name
		if _, err := os.Stat(dir); err != nil {
			good(t, "module", "init", dir, "--from", from, "--name", "acme.example/"+name+"@v0")
		}
		file := filepath.Join(dir, "module.cue")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		changed := strings.NewReplacer(edits...).Replace(string(text))
		require.Equal(t, len(edits) == 0, changed == string(text))
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
		good(t, append([]string{"module", "publish", at + ":" + version, dir, "--skip-checks"}, plain...)...)
		return at
	}
	rules, mail := publish("rules", "policy", "v0.1.0"), publish("mail", "provisioner", "v0.1.0")
	project := writeIn(t, filepath.Join(t.TempDir(), "shop"), map[string]string{
		"ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  policies:
    - name: rules
      cueRef: {type: oci, ref: "` + rules + `:v0.1.0"}
      input: {labels: [app.kubernetes.io/name]}
  workloads:
    provisioners:
      - name: mail
        cueRef: {type: oci, ref: "` + mail + `:v0.1.0"}
`,
		"api.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec:
  containers: {main: {image: "registry.example/shop:1.0", variables: {FROM: "${resources.mail.address}"}}}
  resources: {mail: {type: mailbox}}
`,
	})
	impactOn := func(want int, module string) []string {
		_, lines := impactOf(t, want, append([]string{module, project}, plain...)...)
		return withoutMessages(lines)
	}

	publish("rules", "policy", "v0.1.1", "is reachable from outside of the cluster\"", "is reachable from everywhere\"")
	require.Equal(t, []string{"none|" + project + "|shop||v0.1.0"}, impactOn(command.Good, rules+":v0.1.1"))
	publish("rules", "policy", "v0.2.0", "labels: [...string]", "names: [...string]", "in input.labels if", "in input.names if")
	require.Equal(t, []string{"refused|" + project + "|shop||v0.1.0"}, impactOn(command.Findings, rules+":v0.2.0"), "it takes no labels any more")

	publish("mail", "provisioner", "v0.1.1", `*"1Gi" |`, `*"2Gi" |`)
	require.Equal(t, []string{"changed|" + project + "|shop||v0.1.0"}, impactOn(command.Good, mail+":v0.1.1"))
	publish("mail", "provisioner", "v0.2.0", `type:        "mailbox"`, `type:        "postbox"`)
	require.Equal(t, []string{"refused|" + project + "|shop||v0.1.0"}, impactOn(command.Findings, mail+":v0.2.0"), "nothing makes a mailbox any more")
}
