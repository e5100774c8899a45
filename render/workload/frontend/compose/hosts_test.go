// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// One claim is a resource with an id, and a claim of each replica has none.
func TestAJobHasOneClaim(t *testing.T) {
	for fields, want := range map[string]string{
		"    restart: on-failure\n":                           `data {"accessModes":["ReadWriteOnce"],"size":"1Gi"}`,
		"    restart: on-failure\n    scale: 2\n":             `data {"size":"1Gi"}`,
		"    x-ropewalk: {kind: Deployment}\n":                `data {"accessModes":["ReadWriteOnce"],"size":"1Gi"}`,
		"    labels: {kompose.controller.type: Deployment}\n": `data {"accessModes":["ReadWriteOnce"],"size":"1Gi"}`,
		"    x-ropewalk: {kind: StatefulSet}\n":               ` {"size":"1Gi"}`,
		"":                                                    ` {"size":"1Gi"}`,
	} {
		out, errs := compiled(t, service("    volumes: ['data:/data']\n"+fields+"volumes: {data: {}}\n"), "compose.yaml")
		require.NoError(t, errs.Failures().Err(), fields)
		require.Len(t, out[0].Resources, 1)
		require.Equal(t, want, out[0].Resources[0].ID.Value+" "+string(out[0].Resources[0].Params.JSON()), fields)
	}
}

func TestFoldersOfAHostAreClaims(t *testing.T) {
	out, errs := compiled(t, map[string]string{"compose.yaml": `x-ropewalk: {hostPaths: claim}
services:
  a: {image: x, volumes: ['./data:/a', 'data:/b', '/srv/a:/c', '/srv-a:/d', './a.conf:/e:ro']}
  b: {image: x, volumes: ['./data:/a', 'data:/b']}
  c: {image: x, build: ., volumes: ['./data:/a']}
  d: {image: x, build: ., volumes: ['./data:/a'], x-ropewalk: {hostPaths: claim}}
  e: {image: x, volumes: ['./data:/a'], x-ropewalk: {hostPaths: drop}}
volumes: {data: {x-ropewalk: {size: 1Gi}}}
`, "a.conf": "a"}, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	ids := func(w score.Workload) (out []string) {
		for _, r := range w.Resources {
			out = append(out, r.Name+"="+r.ID.Value)
		}
		return out
	}
	require.Len(t, out[0].Resources, 4)
	require.Contains(t, ids(out[0]), "host-data=host-data")
	require.Contains(t, ids(out[0]), "data=data")
	require.Contains(t, ids(out[0]), "host-srv-a=")
	require.Len(t, out[0].Containers[0].Files, 1)
	require.ElementsMatch(t, []string{"host-data=host-data", "data=data"}, ids(out[1]))
	require.Empty(t, out[2].Resources, "the image is built of that folder")
	require.Equal(t, []string{"host-data=host-data"}, ids(out[3]), "what the service says wins")
	require.Empty(t, out[4].Resources)
}

func TestFoldersOfTheProjectAreFiles(t *testing.T) {
	files := map[string]string{"compose.yaml": `x-ropewalk: {hostPaths: config}
services:
  a: {image: x, volumes: ['./conf:/etc/a:ro', './data:/data', '/srv/a:/srv']}
`, "conf/a.conf": "a", "conf/d/b.conf": "b"}
	out, errs := compiled(t, files, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	var targets []string
	for _, f := range out[0].Containers[0].Files {
		targets = append(targets, f.Target)
	}
	require.Equal(t, []string{"/etc/a/a.conf", "/etc/a/d/b.conf"}, targets)
	require.Len(t, out[0].Resources, 2, "a folder that is not there, and one of the host, are for data")

	files["compose.yaml"] = `x-ropewalk: {hostPaths: config}
services:
  a: {image: x, build: ., volumes: ['./conf:/etc/a:ro', './data:/data', '.:/app']}
  b: {image: x, build: ./conf, volumes: ['./conf/d:/d:ro', './conf:/c']}
  c: {image: x, build: ./conf, volumes: ['./conf:/c:ro'], x-ropewalk: {hostPaths: config}}
`
	out, errs = compiled(t, files, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	targets = nil
	for _, w := range out {
		require.Empty(t, w.Resources)
		for _, f := range w.Containers[0].Files {
			targets = append(targets, f.Target)
		}
	}
	require.Equal(t, []string{"/etc/a/a.conf", "/etc/a/d/b.conf", "/d/b.conf", "/c/a.conf", "/c/d/b.conf"}, targets,
		"folders below that of the image are files, and the folder of the image is not")
	require.Len(t, errs.Warnings(), 3, "of what is left out: data, which is not there, and two folders of images")
	files["compose.yaml"] = "x-ropewalk: {hostPaths: config}\nservices: {a: {image: x, volumes: ['./conf:/etc/a:ro']}}\n"

	for text, want := range map[string]string{
		"\x00":                         `the file "conf/d/b.conf" is not text, which a ConfigMap of a workload holds`,
		"\xff":                         `the file "conf/d/b.conf" is not text, which a ConfigMap of a workload holds`,
		strings.Repeat("x", 1_000_000): `the folder "conf" has more than 1000000 bytes, which are too many for a ConfigMap`,
	} {
		files["conf/d/b.conf"] = text
		_, errs := compiled(t, files, "compose.yaml")
		require.ErrorContains(t, errs.Failures().Err(), want)
	}
}

// A script of the project is mounted so that it can be run, and nothing else is.
func TestAScriptCanBeRun(t *testing.T) {
	out, errs := compiled(t, map[string]string{
		"compose.yaml": "services: {a: {image: x, volumes: ['./run:/run:ro', './a.conf:/a.conf:ro']}}\n", "run": "#!/bin/sh\n", "a.conf": "# !\n",
	}, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	run := 0o755
	modes := map[string]*int{}
	for _, f := range out[0].Containers[0].Files {
		modes[f.Target] = f.Mode
	}
	require.Equal(t, map[string]*int{"/run": &run, "/a.conf": nil}, modes)
}

// What is there already has a name that an object can have.
func TestAnExternalVolumeIsAClaim(t *testing.T) {
	for name, hint := range map[string]string{"certs": "", "certs.v2": "", "my_certs": "write name: my-certs, or the one that it has"} {
		_, errs := compiled(t, service("    volumes: ['data:/data']\nvolumes: {data: {external: true, name: "+name+"}}\n"), "compose.yaml")
		if hint == "" {
			require.NoError(t, errs.Failures().Err())
			continue
		}
		require.Len(t, errs.Failures(), 1)
		require.Equal(t, hint, errs.Failures()[0].Hint)
	}
}

func TestOneMistakeInAVariableIsOneMessage(t *testing.T) {
	for name, c := range map[string]struct {
		file, env string
		want      []string
	}{
		"in environment": {
			"services: {web: {image: x, environment: {A: $B, C: '${C}', D: 'x'}}}", "",
			[]string{"services.web.environment.A", "services.web.environment.C"},
		},
		"passed on":        {"services: {web: {image: x, environment: [A]}}", "", []string{"services.web.environment.A"}},
		"in the file .env": {"services: {web: {image: 'x:${A}', command: ['${C:-d}'], environment: {B: '${B}', A: }}}", "A=1\nB=$NOT_SET\n", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"compose.yaml": c.file}
			if c.env != "" {
				files[".env"] = c.env
			}
			_, errs := compiled(t, files, "compose.yaml")
			var paths []string
			for _, e := range errs.Failures() {
				paths = append(paths, e.Path)
			}
			require.Equal(t, c.want, paths, "%v", errs)
		})
	}
}

func TestANumberThatDockerComposeWritesInAnotherWayIsAWarning(t *testing.T) {
	for written, want := range map[string]string{
		"0x10": "16", "1e3": "1000", "0123": "83", "0o17": "15", "1.10": "1.1", "1_000": "1000", "+5": "5", "2.0": "2",
		"5": "", "-5": "", "1.5": "", "'0x10'": "", "text": "", "1e+30": "",
	} {
		_, errs := compiled(t, service("    environment: {A: "+written+"}\n"), "compose.yaml")
		if want == "" {
			require.Empty(t, errs, written)
			continue
		}
		require.Len(t, errs, 1, written)
		require.Equal(t, "compose.yaml:4:22", errs[0].Pos.String())
		require.Equal(t, object.SeverityWarning, errs[0].Severity)
		require.EqualError(t, errs[0].Err, "the number stays "+written+", as it is written, and docker compose makes "+want+" of it")
	}
	_, errs := compiled(t, service("    environment: {PASSWORD: 0123}\n"), "compose.yaml")
	require.NotContains(t, errs.Error(), "0123")
	require.NotContains(t, errs.Error(), "83")
}

func TestAClaimOfAFolderWithFilesSaysThatItIsEmpty(t *testing.T) {
	files := service("    volumes: ['./conf:/etc/app:ro', './data:/data', '/srv:/srv']\nx-ropewalk: {hostPaths: claim}\n")
	files["conf/app.conf"] = "a"
	_, errs := compiled(t, files, "compose.yaml")
	require.Len(t, errs, 3)
	require.EqualError(t, errs[0].Err, `the folder "conf" of the project becomes a claim, which begins empty: the container has none of the files that it holds, such as "app.conf"`)
	require.Contains(t, errs[0].Hint, "hostPaths: config")
	require.EqualError(t, errs[1].Err, `the folder "data" of the host becomes a claim, which begins empty and asks for 1Gi`)
	require.EqualError(t, errs[2].Err, `the folder "/srv" of the host becomes a claim, which begins empty and asks for 1Gi`)
}
