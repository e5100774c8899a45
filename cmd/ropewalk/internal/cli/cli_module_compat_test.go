// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionsOfPoliciesAndProvisionersAreCompared changes what init writes of both kinds, each row
// in its own way, and wants the verdict and a change that says why.
func TestVersionsOfPoliciesAndProvisionersAreCompared(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, kind := range []string{"policy", "provisioner", "webservice"} {
		good(t, "module", "init", kind, "--from", kind)
	}
	for name, c := range map[string]struct {
		kind  string
		edits []string
		// want is how a change begins, which is as grave as the verdict, but for a secret that
		// is none any more: an object goes too.
		want string
	}{
		"a doc":                  {"policy", []string{"that every object has.", "that all objects have."}, "patch:"},
		"a default":              {"policy", []string{`*"error" | "warning" | "off"`, `"error" | "warning" | *"off"`}, `minor: services: its default was "error" and is "off"`},
		"a default of no value":  {"policy", []string{`*"error" | "warning"`, `"error" | *"warning"`}, `major: : it refuses more of the case "what is wrong": violations[1].severity: has no value`},
		"it refuses elsewhere":   {"policy", []string{`o.kind == "Service" if o.spec.type != _|_ if o.spec.type != "ClusterIP"`, `o.kind == "ConfigMap"`, `"a Service of type \(o.spec.type)`, `"a ConfigMap`}, `major: : it refuses more of the case "what is wrong": spec.type: a ConfigMap is reachable`},
		"another rule":           {"policy", []string{`policy:  "services"`, `policy: "exposure"`, "is reachable from", "can be reached from"}, `undecided: : another rule refuses the same place of the case "what is wrong": spec.type: a Service of type LoadBalancer can be`},
		"a rule of another name": {"policy", []string{`policy:  "services"`, `policy: "exposure"`}, "patch:"},
		"it breaks":              {"policy", []string{`"the object has no label \(label)"`, "o.nope"}, `major: : it refuses more of the case "what is wrong": violations[`},
		"an alternative":         {"policy", []string{` | "off"`, ""}, `major: services: it no longer takes "off"`},
		"a parameter":            {"policy", []string{"labels: [...string]", "names: [...string]", "in input.labels if", "in input.names if"}, "major: labels: it was removed"},
		"other words":            {"policy", []string{"is reachable from", "can be reached from"}, `patch: : what it says of the case "a warning" changes`},
		"it refuses less":        {"policy", []string{`if input.services != "off" for`, `if input.services == "warning" for`}, `minor: : it refuses less of the case "what is wrong": not spec.type: a Service of type LoadBalancer`},
		"it refuses more":        {"policy", []string{` if o.spec.type != _|_ if o.spec.type != "ClusterIP" {`, " {", `"a Service of type \(o.spec.type)`, `"a Service`}, `major: : it refuses more of the case "all is well": spec.type: a Service is reachable`},
		"a param's default":      {"provisioner", []string{`*"1Gi" |`, `*"2Gi" |`}, `minor: mailbox/*.quota: its default was "1Gi" and is "2Gi"`},
		"a param's pattern":      {"provisioner", []string{"(Mi|Gi)", "(Gi)"}, "undecided: mailbox/*.quota: "},
		"a param that is gone":   {"provisioner", []string{"quota: *", "size: *", "params.quota", "params.size"}, "major: mailbox/*.quota: it was removed"},
		"any params":             {"provisioner", []string{"params: {", "params: {\n\t\t..."}, "minor: mailbox/*: names that are not known are taken now"},
		"no params any more":     {"provisioner", []string{"params: {", "_params: {", "params.", "_params."}, "major: mailbox/*: it takes no params any more"},
		"an output that is new":  {"provisioner", []string{"port:    587", "port:    587\n\t\ttls: true"}, "minor: mailbox/*.outputs.tls: the output is new"},
		"an output is gone":      {"provisioner", []string{"port:    587", "ports:   587"}, "major: mailbox/*.outputs.port: the output is gone"},
		"no secret any more":     {"provisioner", []string{"sensitive: password:", "outputs: password: \"p\"\n\t_was:"}, "minor: mailbox/*.outputs.password: the output is no secret any more"},
		"a type":                 {"provisioner", []string{`type:        "mailbox"`, `type: "post"`}, "major: mailbox/*: nothing makes such a resource any more"},
		"a class":                {"provisioner", []string{`type:        "mailbox"`, "type: \"mailbox\"\n\tclass: \"fast\""}, "major: mailbox/*: nothing makes such a resource any more"},
		"an entry that is new":   {"provisioner", []string{"[#Mailbox]", "[#Mailbox, #Mailbox & {class: \"fast\"}]"}, "minor: mailbox/fast: it is new"},
		"an entry before":        {"provisioner", []string{"[#Mailbox]", "[#Mailbox & {class: \"fast\"}, #Mailbox]"}, "undecided: mailbox/*: mailbox/fast makes some of these resources now"},
		"an object":              {"provisioner", []string{`name:      "mailbox-`, `name:      "mail-`}, "major: ConfigMap default/mailbox-shop-mail: it is not made any more, and an engine that prunes deletes it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			text, err := os.ReadFile(filepath.Join(c.kind, "module.cue"))
			require.NoError(t, err)
			changed := string(text)
			for i := 0; i < len(c.edits); i += 2 {
				require.Contains(t, changed, c.edits[i])
				changed = strings.ReplaceAll(changed, c.edits[i], c.edits[i+1])
			}
			newer := t.TempDir()
			require.NoError(t, os.CopyFS(newer, os.DirFS(c.kind)))
			require.NoError(t, os.WriteFile(filepath.Join(newer, "module.cue"), []byte(changed), 0o600))
			var out struct {
				Verdict string
				Changes []struct{ Level, Input, Object, Text string }
			}
			require.NoError(t, json.Unmarshal([]byte(good(t, "module", "compat", c.kind, newer, "--format", "json")), &out))
			lines := []string{out.Verdict + ":"}
			verdict, _, _ := strings.Cut(c.want, ":")
			if name == "no secret any more" {
				verdict = "major"
			}
			for _, one := range out.Changes {
				lines = append(lines, one.Level+": "+one.Input+one.Object+": "+one.Text)
			}
			require.Equal(t, verdict, out.Verdict, lines)
			require.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, c.want) }), lines)
		})
	}

	// A module of another kind has none of the users of the old one.
	_, out, _ := call(t, "module", "compat", "policy", "provisioner", "--allow", "undecided")
	require.Contains(t, out, "it is a module of provisioners now, and was a policy")
	_, out, _ = call(t, "module", "compat", "webservice", "policy", "--allow", "undecided")
	require.Contains(t, out, "it is a policy now, and was a module of specs")
}

// TestARuleThatIsNewIsSeenInTheCasesOfTheNewerVersion compares a policy with one that has a rule more.
func TestARuleThatIsNewIsSeenInTheCasesOfTheNewerVersion(t *testing.T) {
	// A rule that is new is in the cases of the newer version alone, which may be of parameters that
	// the older one does not have.
	base := map[string]string{
		"module.cue":      "package p\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Policy\"}\ninput: close({})\nsubject: objects: {...}\nviolations: []\n",
		"test/cases.yaml": "name: good\nsubject: {objects: {a: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}}\nexpect: {warnings: []}\n",
	}
	older := writeIn(t, t.TempDir(), base)
	text := `package p
ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
input: {strict: bool | *true}
subject: objects: {...}
violations: [if input.strict for n, o in subject.objects if o.kind == "Secret" {object: n, message: "no secrets"}]
`
	more := "---\nname: secret\nINPUTsubject: {objects: {a: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}\nexpect: {errors: [{message: no secrets}]}\n"
	newer := writeIn(t, t.TempDir(), map[string]string{"module.cue": text, "test/cases.yaml": base["test/cases.yaml"] + strings.ReplaceAll(more, "INPUT", "")})
	require.Contains(t, good(t, "module", "compat", older, newer), `it refuses more of the case "secret": no secrets`)
	require.Contains(t, good(t, "module", "compat", newer, older, "--allow", "major"), `it refuses less of the case "secret": not no secrets`)
	optional := writeIn(t, t.TempDir(), map[string]string{
		"module.cue":      strings.ReplaceAll(text, "*true", "*false"),
		"test/cases.yaml": base["test/cases.yaml"] + strings.ReplaceAll(more, "INPUT", "input: {strict: true}\n"),
	})
	require.Contains(t, good(t, "module", "compat", older, optional), "verdict: minor")
}

// TestWhatProvisionersGiveIsComparedWithoutACase changes entries in what no case uses.
func TestWhatProvisionersGiveIsComparedWithoutACase(t *testing.T) {
	// Entries that are no more than what changes; the case uses none of it.
	entry := func(name, list string) string {
		return writeIn(t, filepath.Join(t.TempDir(), name), map[string]string{
			"module.cue":      "package p\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Provisioners\"}\n#Provisioners: [" + list + "]\n",
			"test/cases.yaml": "name: one\ninput: {containers: {main: {image: \"r.example/a:1\"}}, resources: {r: {type: t}}}\nexpect: {warnings: []}\n",
		})
	}
	for name, c := range map[string]struct{ older, newer, want string }{
		"the volume is gone":             {`{type: "t", volume: emptyDir: {}}`, `{type: "t"}`, "major: t/*.volume: the volume that a workload mounts is gone"},
		"a claim for a volume":           {`{type: "t", claim: {}}`, `{type: "t", volume: emptyDir: {}}`, "major: t/*.claim: the claim that a workload mounts is gone"},
		"a volume is new":                {`{type: "t"}`, `{type: "t", volume: emptyDir: {}}`, "minor: t/*.volume: a workload can mount the volume now"},
		"config of another name":         {`{type: "t", config: {a: *"x" | string, ...}}`, `{type: "t", config: {b: *"x" | string, ...}}`, "major: t/*.config.a: "},
		"config of another type":         {`{type: "t", config: {a: *"x" | string, ...}}`, `{type: "t", config: {a: *1 | int, ...}}`, "major: t/*.config.a: it takes an integer, and took text"},
		"config is declared":             {`{type: "t", config: {...}}`, `{type: "t", config: {a?: int, ...}}`, "undecided: t/*.config: it read whatever config there is"},
		"config is closed":               {`{type: "t"}`, `{type: "t", config: {a?: int}}`, "undecided: t/*.config: it read no config"},
		"config is read, and takes all":  {`{type: "t"}`, `{type: "t", config: {...}}`, "patch:"},
		"a conditional output is gone":   {`{type: "t", params: {x?: bool}, outputs: {if params.x != _|_ {h: "a"}}}`, `{type: "t", params: {x?: bool}}`, "undecided: t/*.outputs: conditions changed"},
		"another condition":              {`{type: "t", resource: _, outputs: {if resource.class == "a" {h: "a"}}}`, `{type: "t", resource: _, outputs: {if resource.class == "b" {h: "a"}}}`, "undecided: t/*.outputs: conditions changed"},
		"a conditional secret is gone":   {`{type: "t", params: {x?: bool}, sensitive: {if params.x != _|_ {p: {key: "a"}}}}`, `{type: "t", params: {x?: bool}}`, "undecided: t/*.sensitive: conditions changed"},
		"outputs under a condition":      {`{type: "t", params: {x?: bool}, if params.x != _|_ {outputs: h: "a"}}`, `{type: "t", params: {x?: bool}}`, "undecided: t/*: conditions of outputs or mounts changed"},
		"a volume under a condition":     {`{type: "t", resource: _, if resource.class == "c" {volume: emptyDir: {}}}`, `{type: "t", resource: _}`, "undecided: t/*: conditions of outputs or mounts changed"},
		"objects under a condition":      {`{type: "t", resource: _, if resource.class == "c" {graph: nodes: {}}}`, `{type: "t", resource: _}`, "patch:"},
		"a computed name is gone":        {`{type: "t", resource: _, outputs: "\(resource.name)": "x"}`, `{type: "t"}`, "undecided: t/*.outputs: "},
		"an output is no longer certain": {`{type: "t", outputs: h: "a"}`, `{type: "t", outputs: h?: "a"}`, "major: t/*.outputs.h: the output may be absent now"},
		"every class":                    {`{type: "t"}, {type: "u", class: "c"}`, `{type: "t"}, {type: "u"}`, "minor: u/*: it makes resources that it did not make"},
	} {
		t.Run(name, func(t *testing.T) {
			var out struct {
				Verdict string
				Changes []struct{ Level, Input, Text string }
			}
			text := good(t, "module", "compat", entry("older", c.older), entry("newer", c.newer), "--format", "json")
			require.NoError(t, json.Unmarshal([]byte(text), &out))
			lines := []string{out.Verdict + ":"}
			for _, one := range out.Changes {
				lines = append(lines, one.Level+": "+one.Input+": "+one.Text)
			}
			verdict, _, _ := strings.Cut(c.want, ":")
			require.Equal(t, verdict, out.Verdict, lines)
			require.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, c.want) }), lines)
		})
	}
}
