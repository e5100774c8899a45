// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// onDisk is a folder, with variables of the caller.
type onDisk struct {
	dir string
	env map[string]string
}

func (d onDisk) Read(name string) (spec.File, error) {
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	return spec.File{Name: name, Data: data}, err
}

func (onDisk) Below(string, int) ([]string, error) { return nil, nil }

func (onDisk) Variables(spec.File) (map[string]string, object.Errors) { return nil, nil }

func (onDisk) NetworkPolicies() bool { return false }

func (d onDisk) Variable(name string) (string, bool) {
	v, ok := d.env[name]
	return v, ok
}

// oracleFiles are compose files with all that is merged.
func oracleFiles() map[string]string {
	return map[string]string{
		"compose.yaml": `name: shop
include: [lib/db.yaml]
x-env: &env {LOG: info, LEVEL: 2, ON: true}
services:
  base: {image: base, cap_add: [A], environment: [X=base, Y=base], ports: ['1000:100'], command: a b, dns: 1.1.1.1}
  web:
    extends: base
    environment: {<<: *env, X: web, E: "${EMPTY:-d}", F: "${SET-d}", G: "${EMPTY-d}", H: "$${x}$$y", I: "${SET:+${SET}2}${GONE+no}", J: "$2a${GONE:-$14}$ 1$"}
    ports: [80, "8080:80", "127.0.0.1:9000-9001:90-91/udp", {target: 443, published: "8443"}]
    volumes: ["data:/data", "./src:/src:ro", "/anon", "/abs:/abs/", {type: tmpfs, target: /t}, "~/x:/home"]
    depends_on: [db]
    cap_add: [A, B]
    entrypoint: sh -c "x 'y z'"
    configs: [c, {source: d, target: /etc/d}]
    deploy: {replicas: 2, resources: {limits: {cpus: '0.5', memory: 1g}}}
    healthcheck: {test: curl x, interval: 1m}
  other: {extends: {file: base/b.yaml, service: b}, networks: [back], expose: ['1'], tmpfs: /x}
networks: {back: {}}
volumes: {data: {}}
configs: {c: {file: ./c.txt}, d: {content: "${SET}"}}
`,
		"prod.yaml": `services:
  web:
    environment: [LOG=warn, NEW=1]
    ports: ["8080:80", "81:81"]
    volumes: ["other:/data", "./more:/more"]
    depends_on: {base: {condition: service_healthy}}
    cap_add: [B, C]
    command: [one]
    deploy: {replicas: 3}
    healthcheck: {test: [NONE]}
  base: {command: x}
volumes: {other: {}}
`,
		"lib/db.yaml": "services: {db: {image: 'pg:${SET}', volumes: ['./init:/init'], env_file: [a.env]}}\n",
		"lib/a.env":   "Q=1\n",
		"base/b.yaml": "services:\n  b: {extends: {service: c}, image: b, volumes: ['./b:/b']}\n  c: {image: c, labels: {a: b}, volumes: ['./b:/c']}\n",
		"c.txt":       "",
	}
}

// The same files merged by compose-go, which the tools of Docker use: what services hold is
// the same, where both have it in one form.
func TestModelsAreThoseOfComposeGo(t *testing.T) {
	files := oracleFiles()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	env := map[string]string{"SET": "set", "EMPTY": ""}
	theirs, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, Environment: env, ConfigFiles: types.ToConfigFiles([]string{filepath.Join(dir, "compose.yaml"), filepath.Join(dir, "prod.yaml")}),
	}, func(o *loader.Options) { o.SkipResolveEnvironment = true })
	require.NoError(t, err)

	r := &reading{project: onDisk{dir, env}, blocks: map[object.Pos]spec.Block{}, parsed: map[string][]spec.Manifest{}}
	u := unit{dir: ".", scope: scope{project: r.project}}
	for _, name := range []string{"compose.yaml", "prod.yaml"} {
		u.files = append(u.files, r.root(object.TextAt(name, object.Pos{File: "app.yaml"})))
	}
	model := r.model(u, nil)
	require.NoError(t, r.Errs.Err())
	services := r.root(model).At("services")
	require.Len(t, services.Entries(), len(theirs.Services))
	for _, s := range services.Entries() {
		other := theirs.Services[s.Name]
		require.Equal(t, other.Image, s.At("image").Written(), s.Name)
		require.Equal(t, []string(other.Command), texts(words(s.At("command"))), s.Name)
		require.Equal(t, []string(other.Entrypoint), texts(words(s.At("entrypoint"))), s.Name)
		require.Equal(t, other.CapAdd, texts(s.At("cap_add").Items), s.Name)
		require.Equal(t, []string(other.Tmpfs), texts(s.At("tmpfs").Items), s.Name)
		variables := map[string]string{}
		for name, value := range other.Environment {
			variables[name] = *value
		}
		own := map[string]string{}
		for _, m := range s.At("environment").Entries() {
			own[m.Name] = m.Written()
		}
		require.Equal(t, variables, own, s.Name)
		ports, ownPorts := []string{}, []string{}
		for _, p := range other.Ports {
			ports = append(ports, line(t, p.Target, p.Published, p.Protocol, p.HostIP))
		}
		for _, p := range s.List("ports") {
			n, _ := p.At("target").Number()
			protocol := p.At("protocol").Written()
			if protocol == "" {
				protocol = "tcp"
			}
			ownPorts = append(ownPorts, line(t, n, p.At("published").Written(), protocol, p.At("host_ip").Written()))
		}
		require.ElementsMatch(t, ports, ownPorts, s.Name)
		volumes, ownVolumes := []string{}, []string{}
		for _, v := range other.Volumes {
			volumes = append(volumes, line(t, v.Type, v.Source, v.Target, v.ReadOnly))
		}
		home, _ := os.UserHomeDir()
		for _, v := range s.List("volumes") {
			source := v.At("source").Written()
			switch {
			case source != "" && source[0] == '~':
				source = path.Join(home, source[1:])
			case v.At("type").Written() == "bind" && !path.IsAbs(source):
				source = path.Join(dir, source)
			}
			ownVolumes = append(ownVolumes, line(t, v.At("type").Written(), source, v.At("target").Written(), v.Flag("read_only")))
		}
		require.ElementsMatch(t, volumes, ownVolumes, s.Name)
		for name, d := range other.DependsOn {
			require.Equal(t, d.Condition, s.At("depends_on", name, "condition").Written(), s.Name)
		}
		require.Len(t, s.At("depends_on").Members, len(other.DependsOn), s.Name)
		if other.HealthCheck != nil {
			require.NotEmpty(t, oneOrMore(s.At("healthcheck", "test")))
		}
	}
	require.Equal(t, filepath.Join(dir, theirs.Configs["c"].File[len(dir):]), path.Join(dir, r.root(model).At("configs", "c", "file").Written()))
	require.Equal(t, theirs.Configs["d"].Content, r.root(model).At("configs", "d", "content").Written())
}

func texts(values []object.Value) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Text)
	}
	return out
}

func line(t *testing.T, of ...any) string {
	t.Helper()
	data, err := json.Marshal(of)
	require.NoError(t, err)
	return string(data)
}

// What compose-go takes as a number of CPUs or an amount of memory is taken, and what it
// refuses is refused; negative amounts and what is no finite number fail in Docker.
func TestAmountsAreThoseOfComposeGo(t *testing.T) {
	for text, mine := range map[string]bool{
		"500m": true, "0.5": true, ".5": true, "2": true, "1e-1": true, "": true, "half": true, "0.5 ": true, "1,5": true, "+1": true, "0": true,
		"512MiB": true, "512m": true, "1.5 GB": true, "1Gi": true, "64K": true, "1gbit": true, "1b": true, "1024": true, "k": true, "1Ei": true, "1P": true,
		"-1": false, "-1m": false, "inf": false, "nan": false,
	} {
		for kind, read := range map[string]struct {
			own    func(document.Part) object.Value
			theirs interface{ DecodeMapstructure(v any) error }
		}{"cpus": {cpus, new(types.NanoCPUs)}, "memory": {bytes, new(types.UnitBytes)}} {
			var r document.Decoder
			read.own(document.Part{Decoder: &r, Value: object.TextAt(text, object.Pos{Line: 1})})
			if mine {
				require.Equal(t, read.theirs.DecodeMapstructure(text) == nil, r.Errs.Err() == nil, "%s: %q", kind, text)
			} else {
				require.Error(t, r.Errs.Err(), "%s: %q", kind, text)
			}
		}
	}
}
