// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// keepVariables is the label or annotation of an object in which Flux replaces no variables.
const keepVariables = "kustomize.toolkit.fluxcd.io/substitute"

// Substitute replaces ${NAME} in objects by the variables of a component, as Flux does with the
// variables of postBuild: in the text of the whole object, so that ${REPLICAS} becomes a number, with the
// operators of a shell (${NAME:-default}) and $${NAME} for ${NAME}. A variable without a value is
// an empty text, which a warning says. The error is an object.Errors with all mistakes.
func Substitute(req Request, output Output) (Output, error) {
	variables := req.Component.Substitute
	if variables == nil {
		return output, nil
	}

	// Each variable without a value is reported once, at the first object that has it.
	var errs object.Errors
	empty := map[string]bool{}
	objects := make([]Object, len(output.Objects))
	for i, o := range output.Objects {
		objects[i] = o
		if o.Object.Labels()[keepVariables] == "disabled" || o.Object.Annotations()[keepVariables] == "disabled" {
			continue
		}
		replaced, missing, err := substituteIn(o.Object, variables, empty, req.Component.SubstituteUnknown == spec.UnknownKeep)
		for _, name := range missing {
			e := missingVariable(o, name)
			switch req.Component.SubstituteUnknown {
			case spec.UnknownFail:
				errs = append(errs, e)
			case spec.UnknownEmpty:
				e.Severity = object.SeverityWarning
				output.Warnings = append(output.Warnings, e)
			}
		}
		if err != nil {
			errs = append(errs, Fail(o.Pos, nil, "write $${NAME} for a text that stays ${NAME}, or the annotation "+keepVariables+": disabled for the whole object",
				"%s %q: its variables cannot be replaced: %w", o.Object.Kind(), o.Object.Name(), err))
			continue
		}
		objects[i].Object = replaced
	}
	output.Objects = objects
	return output, errs.Sorted().Err()
}

// missingVariable returns the mistake of a variable without a value.
func missingVariable(o Object, name string) *object.Error {
	return Fail(o.Pos, nil, "add it to the variables, or write a default: ${"+name+":=…}", "the variable %q has no value", name)
}

// maxMissing bounds how many variables without a value an object may have.
const maxMissing = 100

// substituteIn replaces the variables in the text of an object. The argument empty has the names
// that are known to have no value; those that are found are added, and returned as missing. They
// stay as they are written if keep is set.
func substituteIn(o object.Object, variables map[string]string, empty map[string]bool, keep bool) (result object.Object, missing []string, err error) {
	text, err := yaml.Marshal(map[string]any(o))
	if err != nil || !bytes.Contains(text, []byte("${")) {
		return o, nil, err
	}

	// The library stops at a variable that is neither known nor has a default: it is the last
	// variable that the library has asked for.
	var lastVariable string
	lookup := func(name string) (string, bool) {
		value, known := variables[name]
		lastVariable = name
		if keep && !known && empty[name] {
			return "${" + name + "}", true
		}
		return strings.ReplaceAll(value, "\n", ""), known || empty[name]
	}
	replaced, err := envsubst.Eval(string(text), lookup)
	for err != nil && lastVariable != "" && !empty[lastVariable] && len(missing) < maxMissing {
		if _, known := variables[lastVariable]; known {
			break
		}
		empty[lastVariable] = true
		missing = append(missing, lastVariable)
		lastVariable = ""
		replaced, err = envsubst.Eval(string(text), lookup)
	}
	if err != nil {
		return nil, missing, err
	}

	// What the variables make is an object again.
	data, err := yaml.YAMLToJSON([]byte(replaced))
	if err != nil {
		return nil, missing, fmt.Errorf("what they make is no YAML: %w", err)
	}
	if !bytes.HasPrefix(data, []byte("{")) {
		return nil, missing, errors.New("what they make is no object")
	}
	result, err = object.Decode(data)
	return result, missing, err
}
