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
	reported := map[place]bool{}
	for _, o := range outcomes {
		for _, node := range v.ownNodes(o) {
			report := func(path object.Path, name string) {
				field := place{node.Pos, path.String()}
				if reported[field] {
					return
				}
				reported[field] = true
				v.add("secret", &object.Error{
					Stage:  object.StageCheck,
					Pos:    node.Pos,
					Node:   node.ID,
					Path:   field.path,
					Secret: true,
					Err:    fmt.Errorf("%s is a secret by its name, and stands here in plain text", name),
					Notes:  []object.Note{{Pos: o.Pos, Text: "in this case"}},
					Hint:   "refer to a Secret: valueFrom.secretKeyRef, or a volume",
				})
			}

			// Many users of a cluster may read a ConfigMap.
			if data := node.Object.Map("data"); node.Object.Kind() == "ConfigMap" {
				for _, name := range object.SortedKeys(data) {
					if text, _ := data[name].(string); isSecret(name, text) {
						report(object.Fields("data", name), name)
					}
				}
			}

			// kubectl describe shows variables. A reference to another variable is no secret.
			containers(node.Object, func(path object.Path, container map[string]any) {
				variables, _ := container["env"].([]any)
				for i, item := range variables {
					variable, _ := item.(map[string]any)
					name, _ := variable["name"].(string)
					value, _ := variable["value"].(string)
					if isSecret(name, value) && !strings.Contains(value, "$(") {
						report(path.Append(object.Field("env"), object.Index(i), object.Field("value")), name)
					}
				}
			})
		}
	}
}

// isSecret reports whether a value is a secret by its name. A value that turns something on or off is
// none, such as "yes" for MYSQL_ALLOW_EMPTY_PASSWORD.
func isSecret(name, value string) bool {
	return value != "" && object.SensitiveName(name) && !isSwitch(value)
}

// isSwitch reports whether a value turns something on or off.
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
	reported := map[string]bool{}
	for _, o := range outcomes {
		var queries []evaluate.Query
		var errs object.Errors
		for _, n := range v.ownNodes(o) {
			containers(n.Object, func(path object.Path, container map[string]any) {
				image, _ := container["image"].(string)
				problem := unpinned(image, mark.Images)
				if image == "" || problem == "" || reported[image] {
					return
				}
				path = path.Append(object.Field("image"))
				e := &object.Error{
					Stage: object.StageCheck,
					Pos:   n.Pos,
					Node:  n.ID,
					Path:  path.String(),
					Err:   fmt.Errorf("image %q %s", image, problem),
				}
				if mark.Images == "" {
					e.Severity = object.SeverityWarning
				}
				reported[image] = true
				queries = append(queries, evaluate.Query{Node: n.ID, Path: path})
				errs = append(errs, e)
			})
		}

		// An image from the input is the choice of the user.
		remaining, err := v.notFromInput(ctx, o, queries, errs)
		if err != nil {
			return err
		}
		v.add("images", remaining...)
	}
	return nil
}

// notFromInput returns the errors about values that are not computed from the input.
func (v *vetting) notFromInput(
	ctx context.Context, o cases.Outcome, queries []evaluate.Query, errs object.Errors,
) (remaining object.Errors, err error) {
	if len(errs) == 0 {
		return nil, nil
	}

	// Trace the values. A value without an origin counts as written by the module.
	var origins []evaluate.Origin
	if v.Subject.Kind == "" {
		req, err := o.Request(v.Subject)
		if err != nil {
			return nil, err
		}
		origins, err = v.Subject.Renderer.Evaluator.Trace(ctx, req.Specs[0].Evaluate, queries)
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
	}

	// Leave out the values from the input, and place the others in the module.
	for i, e := range errs {
		if i < len(origins) {
			if origins[i].Input.IsValid() {
				continue
			}
			if origins[i].Module.IsValid() {
				e.Pos = origins[i].Module
			}
		}
		remaining = append(remaining, e)
	}
	return remaining, nil
}

// ownNodes returns the nodes that the module itself made.
func (v *vetting) ownNodes(o cases.Outcome) (out []*object.Node) {
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

// unpinned returns the reason why an image is not pinned, or "" for a pinned image.
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

// containers calls do for all containers in an object, at any depth.
func containers(o object.Object, do func(path object.Path, container map[string]any)) {
	var walk func(value any, path object.Path)
	walk = func(value any, at object.Path) {
		switch value := value.(type) {
		case []any:
			for i, item := range value {
				walk(item, at.Append(object.Index(i)))
			}
		case map[string]any:
			for _, name := range object.SortedKeys(value) {
				field := at.Append(object.Field(name))
				items, _ := value[name].([]any)
				if name == "containers" || name == "initContainers" || name == "ephemeralContainers" {
					for i, item := range items {
						if container, ok := item.(map[string]any); ok {
							do(field.Append(object.Index(i)), container)
						}
					}
				}
				walk(value[name], field)
			}
		}
	}
	walk(map[string]any(o), nil)
}
