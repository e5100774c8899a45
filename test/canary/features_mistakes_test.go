// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// beside is a mistake beside a secret: SECRET stands for it in files and options.
type beside struct {
	files map[string]string
	args  []string
	// want is the mistake that is meant, so that another one hides none.
	want string
	// sought: it stands where a search alone hides it, so that a short one is shown.
	sought bool
}

func (b beside) onlySought() beside { b.sought = true; return b }

const (
	workloadHead = "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: web}\nspec:\n"
	projectOf    = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  workloads:\n"
	gatewayOf    = workloadHead + "  containers: {web: {image: a}}\n  service: {ports: {http: {port: 80}}}\n---\n" +
		"apiVersion: ropewalk.dev/v1alpha1\nkind: Gateway\nmetadata: {name: gate}\nspec:\n  target: TARGET\n  routes: [{path: /, to: {workload: web}}]\n"
	functionOf = "apiVersion: ropewalk.dev/v1alpha1\nkind: Function\nmetadata: {name: hash}\nspec:\n"
)

// variableIn is a workload with ${TOKEN} somewhere, and the secret behind it.
func variableIn(fields, want string) beside {
	return beside{
		files: map[string]string{"web.yaml": workloadHead + fields, "ropewalk.yaml": projectOf + "    envFiles: [a.env]\n", "a.env": "OTHER=SECRET\nTOKEN=SECRET\n"},
		want:  want,
	}
}

// param is a param of a resource that holds the secret, and a mistake by it.
func param(kind, params, want string) beside {
	return variableIn("  containers: {web: {image: a}}\n  service: {ports: {http: {port: 80}}}\n  resources: {r: {type: "+kind+", params: {"+params+"}}}\n", want)
}

// project is settings of workloads in a project.
func inProject(settings, want string) beside {
	return beside{files: map[string]string{"ropewalk.yaml": projectOf + settings, "web.yaml": webFile("")}, want: want}
}

func inVariables(variables, want string) beside {
	return beside{files: map[string]string{"web.yaml": workloadHead + "  containers:\n    web:\n      image: a\n      variables:\n" + variables}, want: want}
}

func inCompose(service, rest, want string) beside {
	return beside{files: map[string]string{"compose.yaml": "services:\n  web:\n    image: a\n" + service + rest, "app.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Compose\nmetadata: {name: app}\nspec: {files: [compose.yaml]}\n"}, want: want}
}

func inGateway(target, settings, want string) beside {
	return beside{files: map[string]string{"web.yaml": strings.Replace(gatewayOf, "TARGET", target, 1) + settings}, want: want}
}

func inFunction(fields, want string) beside {
	return beside{files: map[string]string{"hash.yaml": functionOf + fields}, want: want}
}

func inFuncYAML(run, want string) beside {
	return beside{files: map[string]string{"func.yaml": "specVersion: 0.36.0\nname: hash\nruntime: go\nimage: a/b:1\nrun:\n  envs:\n" + run}, args: []string{"func.yaml"}, want: want}
}

func inKustomization(generator, want string) beside {
	return beside{files: map[string]string{"k/kustomization.yaml": "secretGenerator:\n- name: x\n" + generator}, args: []string{"k"}, want: want}
}

func option(want string, args ...string) beside {
	return beside{files: map[string]string{"web.yaml": workloadHead + "  containers: {web: {image: a, variables: {A: \"${TOKEN}\"}}}\n"}, args: args, want: want}
}

// besides are mistakes beside secrets, by what is wrong.
func besides() map[string]beside {
	all := besidesOfFormats()
	maps.Copy(all, map[string]beside{
		"an env file with an open quote":          variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "A=1\nTOKEN=\"SECRET\n", "the quote is not closed"),
		"an env file with a space":                variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TO KEN=SECRET\n", "the name has a space"),
		"an env file with a sign":                 variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TOKEN SECRET\n", "expected NAME=value"),
		"an env file that refers to others":       variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TOKEN=SECRET$HOME\n", "what follows a $ names no variable"),
		"an env file with a message":              variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TOKEN=${HOME:?SECRET}\n", "a reference with $ cannot be read"),
		"an env file of the command line":         {files: map[string]string{"web.yaml": webFile(""), "b.txt": "TOKEN='SECRET"}, args: []string{"--env-file", "b.txt"}, want: "the quote is not closed"},
		"an env file with a dollar":               variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TOKEN=x$SECRET\n", "what follows a $ names no variable"),
		"an env file with a key over lines":       variableIn("  containers: {web: {image: a}}\n", "").with("a.env", "TOKEN=-----BEGIN\nSECRET\nEND\n", "a.env"),
		"a setting without a value":               option("has no =", "--set", "web:SECRET"),
		"a setting that is a tag":                 option("a tag is not supported", "--override-property", "containers.web.variables.TOKEN=!SECRET horse"),
		"an override without a value":             option("has no =", "--override-property", "SECRET"),
		"a runtime without a value":               option("expected NAME=VALUE or FILE", "--runtime", "SECRET"),
		"a variable without a value":              option("expected NAME=VALUE", "--var", "SECRET"),
		"a variable with a name in small letters": option("expected NAME=VALUE", "--var", "token=SECRET"),
		"a variable that nothing refers to":       option("no workload refers to ${TOKE}", "--var", "TOKE=SECRET"),
		"a name of the environment":               option("expected a NAME", "--var-from-env", "password"),
		"a name that nothing refers to":           option("no workload refers to ${DB_PASSWORD}", "--var-from-env", "DB_PASSWORD"),
		"an environment that is not asked":        option("no source gives the variable"),

		"a size":               param("volume", `size: "${TOKEN}"`, ".size"),
		"part of a size":       param("volume", `size: "1${TOKEN}Gi"`, ".size").onlySought(),
		"a path of a route":    param("route", `host: a.example, port: http, path: "${TOKEN}"`, ".path"),
		"a default":            variableIn("  containers: {web: {image: a, variables: {A: \"${NOPE:-SECRET} ${GONE}\"}}}\n", "no source gives the variable").onlySought(),
		"an unknown form":      variableIn("  containers: {web: {image: a, variables: {A: \"${TOKEN:?SECRET}\"}}}\n", "this form of a reference"),
		"a default of default": variableIn("  containers: {web: {image: a, variables: {A: \"${TOKEN:-${SECRET}}\"}}}\n", "this form of a reference"),
		"a volume":             variableIn("  containers: {web: {image: a, volumes: {/a: {source: \"${TOKEN}\"}}}}\n", "volumes"),
		"a zero byte":          variableIn("  containers: {web: {image: a, variables: {A: \"${TOKEN}\\0\"}}}\n", "zero byte"),
		"an output of a variable": variableIn("  containers: {web: {image: a, variables: {A: \"${resources.store.nope} ${TOKEN}\"}}}\n  resources: {store: {type: postgres}}\n",
			`has no output "nope"`),

		"a value for a map":               inVariables("        A: {secret: {value: SECRET}}\n", "expected a string, got a map"),
		"a value beside a secret":         inVariables("        A: {secret: a, value: SECRET}\n", `unknown field "value"`),
		"a list for a secret":             inVariables("        A: {secret: [SECRET]}\n", "expected a string, got a list"),
		"a password beside a placeholder": inVariables("        A_TOKEN: SECRET${secrets.a.b}SECRET\n", "the project declares no secrets"),
		"a key that looks like one":       inVariables("        A_PASSWORD: SECRET\n        B: {local: a}\n", "key is missing"),

		"a binding that is a value":        inProject("    secrets: {bindings: {ledger: SECRET}}\n", "expected a map, got a string"),
		"bindings that are a list":         inProject("    secrets: {bindings: [SECRET]}\n", "expected a map, got a list"),
		"bindings that are a value":        inProject("    secrets: {bindings: 'SECRET'}\n", "expected a map, got a string"),
		"a binding of a name and a value":  inProject("    secrets: {bindings: {ledger: 'password:SECRET'}}\n", "expected a map, got a string"),
		"keys that are a value":            inProject("    secrets: {bindings: {ledger: {keys: 'SECRET'}}}\n", "expected a list, got a string"),
		"secrets that are a value":         inProject("    secrets: SECRET\n", "expected a map, got a string"),
		"secrets by name":                  inProject("    secrets: {ledger: SECRET}\n", `unknown field "ledger"`),
		"a store that is a value":          inProject("    secrets: {store: {name: a, provider: {vault: SECRET}}}\n", "expected a map, got a string"),
		"a binding with a value":           inProject("    secrets:\n      bindings:\n        ledger: {value: 'SECRET'}\n", `unknown field "value"`),
		"a binding with a list":            inProject("    secrets: {bindings: {ledger: {secret: [SECRET]}}}\n", "expected a string, got a list"),
		"keys with values":                 inProject("    secrets: {bindings: {ledger: {keys: {password: SECRET}}}}\n", "expected a list, got a map"),
		"a provider with a token":          inProject("    secrets: {providers: {vault: {token: SECRET}}}\n", `unknown field "token"`),
		"a store with a token":             inProject("    secrets: {store: {name: a, token: SECRET}}\n", `unknown field "token"`),
		"a pull secret that is a value":    inProject("    images: {pullSecretsFrom: {registry: SECRET}}\n", "expected a map, got a string"),
		"a pull secret with a login":       inProject("    images: {pullSecretsFrom: {registry: {auth: SECRET}}}\n", `unknown field "auth"`),
		"a pull secret with all":           inProject("    images:\n      pullSecretsFrom:\n        registry:\n          .dockerconfigjson: '{\"auths\": {\"r\": {\"auth\": \"SECRET\"}}}'\n", "unknown field"),
		"pull secrets that are values":     inProject("    images: {pullSecrets: [{password: SECRET}]}\n", "expected a string, got a map"),
		"a pull secret that is no name":    inProject("    images: {pullSecrets: ['the SECRET']}\n", "is not the name of a Secret"),
		"pull secrets that are one value":  inProject("    images: {pullSecrets: 'SECRET'}\n", "expected a list, got a string"),
		"pull secrets in a list":           inProject("    images: {pullSecretsFrom: [SECRET]}\n", "expected a map, got a list"),
		"an env file that is a variable":   inProject("    envFiles: ['TOKEN=SECRET']\n", "expected the path of a file, got a variable"),
		"an env file that is a path":       inProject("    envFiles: ['/SECRET']\n", "expected a path relative").onlySought(),
		"a mirror with a login":            inProject("    images: {mirrors: {docker.io: 'https://user:SECRET@registry.internal'}}\n", "is no registry"),
		"env files that are variables":     inProject("    envFiles: {TOKEN: SECRET}\n", "expected a list, got a map"),
		"an environment with the password": inProject("    envFiles: []\n  environments: {prod: {workloads: {secrets: {bindings: {a: {token: SECRET}}}}}}\n", `unknown field "token"`),
	})
	return all
}

// besidesOfFormats are those in files of other formats.
func besidesOfFormats() map[string]beside {
	return map[string]beside{
		"a secret with its content":      inCompose("    secrets: [a]\n", "secrets: {a: {content: 'SECRET'}}\n", "secrets.a"),
		"content beside a dollar":        inCompose("    secrets: [a]\n", "secrets: {a: {content: 'SECRET${GONE}x${'}}\n", "secrets.a.content"),
		"a config of the environment":    inCompose("    configs: [a]\n", "configs: {a: {environment: DB_PASSWORD}}\n", `the variable "DB_PASSWORD" has no source`),
		"a null of the environment":      inCompose("    environment:\n      DB_PASSWORD:\n", "", `the variable "DB_PASSWORD" has no source`),
		"a name of the environment, too": inCompose("    environment: [DB_PASSWORD]\n", "", `the variable "DB_PASSWORD" has no source`),
		"a variable with a message":      inCompose("    environment: ['API_KEY=SECRET${GONE}']\n", "", `the variable "GONE" has no source`),
		"a password with a dollar":       inCompose("    environment: {DB_PASSWORD: 'x$SECRET'}\n", "", "what follows a $ names no variable"),
		"a .env with a dollar":           inCompose("", "", "what follows a $ names no variable").with(".env", "TOKEN=x$SECRET\n", ""),
		"an env_file with a dollar":      inCompose("    env_file: b.env\n", "", "what follows a $ names no variable").with("b.env", "TOKEN=x$SECRET\n", ""),
		"a command with a password":      inCompose("    command: ['--password=SECRET', '${GONE}']\n", "", `the variable "GONE" has no source`),
		"a port of a variable":           inCompose("    ports: ['${TOKEN}']\n", "", "is not a port").with(".env", "TOKEN=SECRET\n", ""),
		"a user of a variable":           inCompose("    user: ${TOKEN}\n", "", "services.web.user").with(".env", "TOKEN=SECRET\n", ""),
		"a broken .env":                  inCompose("", "", "the quote is not closed").with(".env", "A=1\nTOKEN='SECRET\n", ""),
		"an env_file that is broken":     inCompose("    env_file: b.env\n", "", "the name has a space").with("b.env", "A B=SECRET\n", ""),
		"x-ropewalk with a value":        inCompose("    x-ropewalk: {containers: {web: {variables: {A: {secret: a, value: SECRET}}}}}\n", "", `unknown field "value"`),

		"a function's variable":            inFunction("  container: {image: a, variables: {TOKEN: SECRET, A: [SECRET]}}\n", "variables.A"),
		"a function's secret":              inFunction("  container: {image: a, variables: {A: {secret: a, value: SECRET}}}\n", `unknown field "value"`),
		"a function's mistake":             inFunction("  container: {image: a, variables: {API_KEY: SECRET}}\n  scale: {max: -1}\n  target: SECRET\n", "target").onlySought(),
		"envs of func.yaml":                inFuncYAML("    - name: DB_PASSWORD\n      value: [SECRET]\n", "expected a string, got a list"),
		"envs of func.yaml with a field":   inFuncYAML("    - {name: DB_PASSWORD, value: SECRET, secret: SECRET}\n", "envs"),
		"envs of func.yaml with a list":    inFuncYAML("    - {name: DB_PASSWORD, value: [SECRET]}\n", "expected a string, got a list"),
		"envs of func.yaml and a function": inFuncYAML("    - {name: DB_PASSWORD, value: 'SECRET {{ nope:X }}'}\n", "envs"),

		"auth with a password":       inGateway("traefik", "  auth: {type: basic, secret: users, password: SECRET}\n", `unknown field "password"`),
		"auth that is a login":       inGateway("traefik", "  auth: {type: basic, secret: 'user:SECRET'}\n", "is not a name"),
		"auth with users":            inGateway("traefik", "  auth: {type: basic, users: ['a:SECRET']}\n", `unknown field "users"`),
		"auth with a client secret":  inGateway("envoy-gateway", "  auth: {type: oauth2, issuer: 'https://i', clientID: a, clientSecret: SECRET}\n", `unknown field "clientSecret"`),
		"an issuer with a password":  inGateway("envoy-gateway", "  auth: {type: jwt, issuer: 'https://a:SECRET@i', jwks: 'http://a:SECRET@j'}\n", "jwks"),
		"a key in a header":          inGateway("envoy-gateway", "  auth: {type: api-key, secret: keys, header: 'SECRET SECRET'}\n", "header"),
		"a header with a line break": inGateway("envoy-gateway", "  headers: {request: {set: {Authorization: \"Bearer SECRET\\n\"}}}\n", "Authorization"),
		"a header that is a list":    inGateway("envoy-gateway", "  headers: {request: {set: {X-Api-Key: [SECRET]}}}\n", "X-Api-Key"),
		"tls with a key":             inGateway("traefik", "  tls: {secret: a, key: SECRET}\n", `unknown field "key"`),

		"a literal with a colon":  inKustomization("  literals: ['password: SECRET']\n", "expected NAME=VALUE"),
		"a literal with an alias": inKustomization("  literals: ['note: a: *SECRET']\n", "expected NAME=VALUE"),
		"an env file in Latin-1":  inKustomization("  envs: [e.env]\n", "the line is not valid UTF-8").with("k/e.env", "TOKEN=SECRET\xe9\n", ""),
		"a key over lines":        inKustomization("  envs: [e.env]\n", "expected NAME=VALUE").with("k/e.env", "TOKEN=-----BEGIN A-----\nSECRET+/==\n", ""),

		"a queue with a login":  variableIn("  containers: {web: {image: a}}\n  replicas: {max: 3, queue: {name: a, address: 'redis://user:SECRET@host.a:6379'}}\n", "queue").onlySought(),
		"a queue with a field":  variableIn("  containers: {web: {image: a}}\n  replicas: {max: 3, queue: {name: a, address: 'host.a:6379', password: SECRET}}\n", `unknown field "password"`),
		"a queue of a variable": variableIn("  containers: {web: {image: a}}\n  replicas: {max: 3, queue: {name: a, address: '${TOKEN}'}}\n", "queue"),
	}
}

// with is b with another file, and another mistake where want is not "".
func (b beside) with(name, text, want string) beside {
	b.files = maps.Clone(b.files)
	b.files[name] = text
	if want != "" {
		b.want = want
	}
	return b
}

// run runs the program in dir, with value in the place of the secret, and gives what it prints and
// its exit code.
func (b beside) run(t *testing.T, binary, dir, value string, args ...string) (out []byte, code int) {
	t.Helper()
	for file, text := range b.files {
		write(t, dir, map[string]string{file: strings.ReplaceAll(text, "SECRET", value)})
	}
	for _, arg := range b.args {
		args = append(args, strings.ReplaceAll(arg, "SECRET", value))
	}
	cmd := exec.CommandContext(t.Context(), binary, args...) //nolint:gosec // it is ours
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ROPEWALK_CACHE=" + filepath.Join(dir, "cache"), "TOKEN=" + value, "DB_PASSWORD=" + value, "password=" + value}
	out, _ = cmd.CombinedOutput()
	return out, cmd.ProcessState.ExitCode()
}

// TestNoMistakeShowsTheSecretBesideIt has the secret in each place that an author of
// workloads has for settings, with a mistake in it, at it or beside it.
func TestNoMistakeShowsTheSecretBesideIt(t *testing.T) {
	t.Parallel()
	binary, l := install(t), newLeaks()
	cases, value := besides(), head+"-"+tail
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := cases[name], t.TempDir()
			for _, args := range [][]string{{"render", "--format", "json"}, {"render", "--dialect", "argocd", "-o", "out"}, {"vet"}, {"graph", "--format", "json"}} {
				out, code := c.run(t, binary, dir, value, args...)
				require.NotZero(t, code, "%s", out)
				require.Contains(t, strings.ReplaceAll(string(out), `\"`, `"`), c.want)
				require.NotContains(t, string(out), "panic")
				l.Require(t, args[0], out)
			}
			_, err := os.Stat(filepath.Join(dir, "out"))
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// TestNoMistakeSaysMoreOfAShortSecret runs each mistake with two secrets that no search finds:
// what is said of one is said of the other.
func TestNoMistakeSaysMoreOfAShortSecret(t *testing.T) {
	t.Parallel()
	binary, cases := install(t), besides()
	run := func(t *testing.T, c beside, value string) string {
		t.Helper()
		dir := t.TempDir()
		out, _ := c.run(t, binary, dir, value, "vet")
		return rejected.Same(strings.ReplaceAll(string(out), dir, "DIR"))
	}
	// The files are written by hand, so that these are texts which need no quotes; package rejected
	// writes the others as each place wants it.
	twins := slices.DeleteFunc(rejected.Twins(), func(pair [2]string) bool { return strings.ContainsAny(pair[0], "\n!{") || !utf8.ValidString(pair[0]) })
	maps.DeleteFunc(cases, func(_ string, c beside) bool { return c.sought })
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; n < len(twins) && (n == 0 || rejected.Many(t) > 1000); n++ {
				pair := twins[(i+n)%len(twins)]
				require.Equal(t, run(t, cases[name], pair[0]), run(t, cases[name], pair[1]), "%q", pair)
			}
		})
	}
}
