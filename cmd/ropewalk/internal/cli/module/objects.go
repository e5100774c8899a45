// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// checkSecrets reports secrets in plain text in objects: variables of containers, and data of
// ConfigMaps, by their names. Secrets with data are refused by every render.
func (v *vetting) checkSecrets(outcomes []cases.Outcome) {
	type place struct {
		pos  object.Pos
		path string
	}

	// Report each place once, although many cases make it.
	seen := map[place]bool{}
	for _, o := range outcomes {
		for _, n := range v.compareResults(o) {
			report := func(path object.Path, name string) {
				at := place{n.Pos, path.String()}
				if seen[at] {
					return
				}
				seen[at] = true
				v.add("secret", &object.Error{
					Stage: object.StageCheck, Pos: n.Pos, Node: n.ID, Path: at.path, Secret: true,
					Err:   fmt.Errorf("%s is a secret by its name, and stands here in plain text", name),
					Notes: []object.Note{{Pos: o.Pos, Text: "in this case"}}, Hint: "refer to a Secret: valueFrom.secretKeyRef, or a volume",
				})
			}

			// ConfigMaps are read by many.
			if data := n.Object.Map("data"); n.Object.Kind() == "ConfigMap" {
				for _, name := range object.SortedKeys(data) {
					if text, _ := data[name].(string); text != "" && !isSwitch(text) && object.SensitiveName(name) {
						report(object.Fields("data", name), name)
					}
				}
			}

			// Variables are shown by kubectl describe.
			containers(n.Object, func(at object.Path, container map[string]any) {
				variables, _ := container["env"].([]any)
				for i, item := range variables {
					variable, _ := item.(map[string]any)
					name, _ := variable["name"].(string)
					value, _ := variable["value"].(string)
					if object.SensitiveName(name) && value != "" && !isSwitch(value) && !strings.Contains(value, "$(") {
						report(at.Append(object.Field("env"), object.Index(i), object.Field("value")), name)
					}
				}
			})
		}
	}
}

// isSwitch reports whether a value turns something on or off, as that of
// MYSQL_ALLOW_EMPTY_PASSWORD does, and is no secret whatever its name is.
func isSwitch(value string) bool {
	return slices.Contains([]string{"true", "false", "yes", "no", "on", "off"}, strings.ToLower(value))
}

// checkImages reports the images that are not pinned, if the module chooses them: users choose the
// others.
func (v *vetting) checkImages(ctx context.Context, outcomes []cases.Outcome, mark spec.Mark) error {
	if mark.Images == spec.ImagesOff {
		return nil
	}

	// Report each image once, although many cases have it.
	seen := map[string]bool{}
	for _, o := range outcomes {
		var queries []evaluate.Query
		var errs object.Errors
		for _, n := range v.compareResults(o) {
			containers(n.Object, func(at object.Path, container map[string]any) {
				image, _ := container["image"].(string)
				wrong := unpinned(image, mark.Images)
				if image == "" || wrong == "" || seen[image] {
					return
				}
				at = at.Append(object.Field("image"))
				e := &object.Error{Stage: object.StageCheck, Pos: n.Pos, Node: n.ID, Path: at.String(), Err: fmt.Errorf("image %q %s", image, wrong)}
				if mark.Images == "" {
					e.Severity = object.SeverityWarning
				}
				seen[image] = true
				queries = append(queries, evaluate.Query{Node: n.ID, Path: at})
				errs = append(errs, e)
			})
		}

		// The image of a user's input is the choice of the user.
		own, err := v.ownChoice(ctx, o, queries, errs)
		if err != nil {
			return err
		}
		v.add("images", own...)
	}
	return nil
}

// ownChoice returns the errors about values that are not computed from the input.
func (v *vetting) ownChoice(ctx context.Context, o cases.Outcome, queries []evaluate.Query, errs object.Errors) (own object.Errors, err error) {
	if len(errs) == 0 {
		return nil, nil
	}
	var origins []evaluate.Origin
	if v.Subject.Kind == "" {
		req, err := o.Request(v.Subject)
		if err != nil {
			return nil, err
		}
		// Without an origin the image is taken to be the module's.
		origins, err = v.Subject.Renderer.Evaluator.Trace(ctx, req.Specs[0].Evaluate, queries)
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	for i, e := range errs {
		if i < len(origins) {
			if origins[i].Input.IsValid() {
				continue
			}
			if origins[i].Module.IsValid() {
				e.Pos = origins[i].Module
			}
		}
		own = append(own, e)
	}
	return own, nil
}

// compareResults returns the nodes that the module itself made.
func (v *vetting) compareResults(o cases.Outcome) (out []*object.Node) {
	if o.Err != nil || o.Result.Plan == nil {
		return nil
	}
	for _, n := range o.Result.Plan.Graph.Nodes {
		if v.Subject.Kind != evaluate.KindProvisioners || o.Result.Provisioned[n.ID] == cases.ModuleName {
			out = append(out, n)
		}
	}
	return out
}

// unpinned returns what is wrong with how an image is pinned, or "" if nothing is.
func unpinned(image, mode string) string {
	name, digest, _ := strings.Cut(image, "@")
	_, tag, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	switch {
	case regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digest):
		return ""
	case mode == spec.ImagesByDigest:
		return "has no digest, and vet.images of the module wants one: write NAME:TAG@sha256:…"
	case tag == "" || tag == "latest":
		return "has no tag that names a version: write NAME:TAG, or NAME:TAG@sha256:…"
	}
	return ""
}

// containers calls do for all containers in an object, wherever its pods are.
func containers(o object.Object, do func(at object.Path, container map[string]any)) {
	var walk func(value any, at object.Path)
	walk = func(value any, at object.Path) {
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				walk(item, at.Append(object.Index(i)))
			}
		case map[string]any:
			for _, name := range object.SortedKeys(value) {
				in := at.Append(object.Field(name))
				items, _ := value[name].([]any)
				if name == "containers" || name == "initContainers" || name == "ephemeralContainers" {
					for i, item := range items {
						if container, ok := item.(map[string]any); ok {
							do(in.Append(object.Index(i)), container)
						}
					}
				}
				walk(value[name], in)
			}
		}
	}
	walk(map[string]any(o), nil)
}
