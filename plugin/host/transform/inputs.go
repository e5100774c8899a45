// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// defaultEntry is the entry of a ConfigMap that holds values where none is named.
const defaultEntry = "values.yaml"

// addInputs puts what inputsFrom names into files. It returns the values files for the host, in
// the order in which they are laid over each other, and the runtime values.
func (o Options) addInputs(ctx context.Context, t *v1alpha1.Transform, files map[string][]byte) (values, runtime []string, err error) {
	for i, in := range t.Spec.InputsFrom {
		at := fmt.Sprintf("spec.inputsFrom[%d]", i)
		data, err := o.input(ctx, t, in, at)
		if err == nil && o.Host.Charge != nil {
			err = o.Host.Charge(ctx, int64(len(data)))
		}
		if err != nil {
			return nil, nil, err
		}
		if data == nil {
			continue
		}
		if in.Runtime != "" {
			runtime = append(runtime, in.Runtime+"="+string(data))
			continue
		}
		// One entry may be named twice, for two positions.
		name := fmt.Sprintf("%s/%d/%s", hidden, i, Entry(in))
		files[name] = data
		target := in.Spec
		if target == "" {
			target = label(t.Name)
		}
		values = append(values, target+":"+name)
	}
	return values, runtime, nil
}

// Entry returns the name of an entry in positions: ConfigMap settings/values.yaml.
func Entry(in v1alpha1.InputReference) string {
	name := in.Kind + " " + in.Name
	if key := KeyOf(in); key != "" {
		name += "/" + key
	}
	return name
}

// KeyOf returns the key of an entry, with the default of ConfigMaps.
func KeyOf(in v1alpha1.InputReference) string {
	if in.Key == "" && in.Kind == "ConfigMap" {
		return defaultEntry
	}
	return in.Key
}

// input returns one entry of inputsFrom as a values file, or the text of a runtime value. It
// returns nil if the entry is optional and does not exist.
func (o Options) input(ctx context.Context, t *v1alpha1.Transform, in v1alpha1.InputReference, at string) ([]byte, error) {
	if in.Kind == "Secret" && in.Runtime != "" {
		return nil, o.mistake(at+".runtime", "have the module refer to the Secret by its name", "no value of a Secret may enter a render")
	}
	if in.Kind == "Secret" {
		return o.secretInput(ctx, t, in, at)
	}
	m, err := o.ConfigMaps.Get(ctx, in.Name)
	text, there := m.Data[KeyOf(in)]
	switch gone := errors.Is(err, source.ErrNotFound) || err == nil && !there; {
	case gone && in.Optional:
		return nil, nil
	case gone:
		return nil, missing(at, true, Entry(in), t.Namespace)
	case err != nil || in.TargetPath == "":
		return []byte(text), err
	}
	return o.valuesAt(in.TargetPath, object.Value{Kind: object.KindString, Text: text}, at)
}

// secretInput returns the name and the key of a Secret. Only its existence is asked for, so that
// no value ever comes here.
func (o Options) secretInput(ctx context.Context, t *v1alpha1.Transform, in v1alpha1.InputReference, at string) ([]byte, error) {
	err := o.HasSecret(ctx, in.Name)
	switch gone := errors.Is(err, source.ErrNotFound); {
	case gone && in.Optional:
		return nil, nil
	case gone:
		// Secrets are not watched: the right to watch one is the right to read all.
		return nil, missing(at, false, fmt.Sprintf("Secret %q", in.Name), t.Namespace)
	case err != nil:
		return nil, err
	}
	text := func(s string) object.Value { return object.Value{Kind: object.KindString, Text: s} }
	v := object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "name", Value: text(in.Name)}}}
	if in.Key != "" {
		v.Members = append(v.Members, object.Member{Name: "key", Value: text(in.Key)})
	}
	return o.valuesAt(in.TargetPath, v, at)
}

// valuesAt returns a values file that has nothing but v, at a path.
func (o Options) valuesAt(path string, v object.Value, at string) ([]byte, error) {
	set, err := spec.ParseSet(path + "=x")
	if err == nil && set.Spec != "" {
		err = fmt.Errorf("%q names a spec", path)
	}
	if err == nil && slices.ContainsFunc(set.Path, func(s object.Step) bool { return s.IsIndex }) {
		err = fmt.Errorf("%q leads into a list; lists are replaced, not merged", path)
	}
	if err != nil {
		return nil, o.mistake(at+".targetPath", "write fields joined by dots, such as database.password", "%s", strings.TrimPrefix(err.Error(), "--set "))
	}
	set.Value = v
	whole, err := set.Over(object.Value{Kind: object.KindMap})
	if err != nil {
		return nil, err
	}
	return whole.JSON(), nil
}
