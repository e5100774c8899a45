// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// guides are those of the controller.
func guides() []string {
	return []string{fluxFolder + "/README.md", fluxFolder + "/operations.md", fluxFolder + "/tutorial.md"}
}

// blocks are the blocks of code of a guide in a language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, file), -1) {
		out = append(out, m[1])
	}
	return out
}

// firstColumn is what stands as code in the first column of the table of a guide whose
// head begins so.
func firstColumn(t *testing.T, file, head string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, file), "\n| "+head+" |")
	require.True(t, ok, head)
	table, _, _ := strings.Cut(rest, "\n\n")
	var out []string
	for _, row := range strings.Split(strings.TrimRight(table, "\n"), "\n")[2:] {
		cell := strings.Split(row, "|")[1]
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			out = append(out, code[1])
		}
	}
	require.NotEmpty(t, out, head)
	return out
}

func TestAnAPIServerTakesTheTransformsOfTheGuides(t *testing.T) {
	seen := 0
	for _, file := range guides() {
		for _, text := range blocks(t, file, "yaml") {
			for _, o := range documents(t, file, text) {
				if o.Group() == "ropewalk.dev" {
					seen++
					require.Empty(t, judged(t, o), text)
				}
			}
		}
	}
	require.Greater(t, seen, 2)
}

// TestExamplesAreSpecsOrSayThatTheyAreForACluster reads them as the command does.
func TestExamplesAreSpecsOrSayThatTheyAreForACluster(t *testing.T) {
	for name, want := range map[string]string{
		"hello.yaml":    "",
		"shop.yaml":     "spec.sourceRef: this Transform is for the controller in a cluster",
		"shop-oci.yaml": "spec.sourceRef: this Transform is for the controller in a cluster",
		"tenant.yaml":   "contains no document of ropewalk.dev/v1alpha1",
	} {
		file := fluxFolder + "/examples/" + name
		_, err := spec.Parse([]spec.File{{Name: file, Data: []byte(read(t, file))}})
		if want == "" {
			require.NoError(t, err, name)
			continue
		}
		var mistakes object.Errors
		require.ErrorAs(t, err, &mistakes)
		require.Len(t, mistakes, 1, name)
		require.ErrorContains(t, err, want)
	}
}

// TestWhatTheGuidesNameIsThere looks for the files, the folders and the flags.
func TestWhatTheGuidesNameIsThere(t *testing.T) {
	for _, name := range firstColumn(t, fluxFolder+"/README.md", "folder") {
		require.True(t, exists(filepath.Join(fluxFolder, name)), name)
	}
	// These are of kustomize-controller and of the command of Flux.
	theirs := []string{"--default-service-account", "--components-extra"}
	known := read(t, commandHelp)
	// The guide shows the commands for Transforms too, and for their manifests.
	for _, name := range []string{"render", "get", "reconcile", "rollback", "suspend", "resume", "wait"} {
		known += read(t, root+"/docs/commands/"+name+".md")
	}
	for _, file := range guides() {
		text := read(t, file)
		for _, m := range regexp.MustCompile("(?m) (?:-f |-k |install ropewalk )?(deploy/[^ \n`]+)").FindAllStringSubmatch(text, -1) {
			require.True(t, exists(filepath.Join(root, m[1])), "%s: %s", file, m[1])
		}
		for _, m := range regexp.MustCompile("`((?:examples/)?[a-z-]+\\.(?:yaml|md|json))`").FindAllStringSubmatch(text, -1) {
			found := slices.ContainsFunc([]string{"", "servicemonitor", "../chart", "../../cue/examples/shop"}, func(dir string) bool {
				return exists(filepath.Join(fluxFolder, dir, m[1]))
			})
			require.True(t, found, "%s: %s", file, m[1])
		}
		for _, m := range regexp.MustCompile("`(--[a-z-]+)[^`]*`").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(theirs, m[1]) {
				require.Regexp(t, `(?m)^ +`+m[1]+`\b`, known, file)
			}
		}
	}
}

func TestReasonsOfTheGuideAreThoseOfTheAPI(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)Reason += "(\w+)"`).FindAllStringSubmatch(read(t, root+"/plugin/api/v1alpha1/condition.go"), -1) {
		// These need nobody to do anything.
		if !slices.Contains([]string{"Deleting", "Valid", "Published", "ReconciliationSucceeded"}, m[1]) {
			want = append(want, m[1])
		}
	}
	require.ElementsMatch(t, want, firstColumn(t, fluxFolder+"/README.md", "reason"))
}

// TestOperationsNamesEveryEvent compares the table with the reasons of conditions, of which events
// follow, and with those that only events have.
func TestOperationsNamesEveryEvent(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)Reason += "(\w+)"`).FindAllStringSubmatch(read(t, root+"/plugin/api/v1alpha1/condition.go"), -1) {
		if m[1] != "Valid" { // It is of the condition Validated alone.
			want = append(want, m[1])
		}
	}
	sources, err := filepath.Glob(root + "/plugin/flux/*.go")
	require.NoError(t, err)
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:reason: |add\(type\w+, )"(\w+)"`).FindAllStringSubmatch(read(t, file), -1) {
			want = append(want, m[1])
		}
	}
	require.Greater(t, len(want), 20)
	require.ElementsMatch(t, want, firstColumn(t, fluxFolder+"/operations.md", "event | type"))
}

func TestOperationsNamesEveryMetricAndEveryAlert(t *testing.T) {
	operations := fluxFolder + "/operations.md"
	var want []string
	for _, m := range regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllStringSubmatch(read(t, root+"/cmd/ropewalk-controller/internal/controller/metrics.go"), -1) {
		want = append(want, "ropewalk_"+m[1])
	}
	for _, m := range regexp.MustCompile(`Name: "(ropewalk_[a-z_]+)"`).FindAllStringSubmatch(read(t, root+"/plugin/flux/metrics.go"), -1) {
		want = append(want, m[1])
	}
	for _, name := range pivotMetrics(t) {
		want = append(want, "ropewalk_"+name)
	}
	require.Greater(t, len(want), 15)
	require.Subset(t, firstColumn(t, operations, "metric"), want)

	var alerts []string
	walk(map[string]any(only(t, fluxFolder+"/servicemonitor/alerts.yaml")), func(key string, v any) {
		if name, ok := v.(string); ok && key == "alert" {
			alerts = append(alerts, name)
		}
	})
	require.ElementsMatch(t, alerts, firstColumn(t, operations, "alert"))
}

// TestCommandsOfTheGuidesHaveTheirFlags runs those of ropewalk with --help: nothing is
// done then, but flags are parsed.
func TestCommandsOfTheGuidesHaveTheirFlags(t *testing.T) {
	command, seen := install(t), 0
	for _, file := range guides() {
		for _, text := range blocks(t, file, "sh") {
			for line := range strings.Lines(text) {
				line, _, _ = strings.Cut(line, " # ")
				if words := strings.Fields(line); len(words) > 1 && words[0] == "ropewalk" {
					seen++
					require.Contains(t, run(t, command, append(words[1:], "--help")...), "Usage:\n  ropewalk "+words[1], line)
				}
			}
		}
	}
	require.Positive(t, seen)
}

// TestTheExampleOfTheTutorialIsTheOneInTheFolder compares the Transform that it shows.
func TestTheExampleOfTheTutorialIsTheOneInTheFolder(t *testing.T) {
	file := fluxFolder + "/examples/shop.yaml"
	all := documents(t, file, read(t, file))
	i := slices.IndexFunc(all, func(o object.Object) bool { return o.Kind() == "Transform" })
	shown := documents(t, "tutorial", blocks(t, fluxFolder+"/tutorial.md", "yaml")[0])[0]
	for _, field := range []string{"sourceRef", "inputsFrom"} {
		require.Equal(t, at(t, all[i], "spec", field), at(t, shown, "spec", field))
	}
}
