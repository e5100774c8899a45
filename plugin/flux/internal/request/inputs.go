// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// defaultEntry is the entry of a ConfigMap that holds values where none is named.
const defaultEntry = "values.yaml"

// inputs puts what inputsFrom names into files, and gives the values files for the
// host, in the order in which they are laid over each other, and the runtime values.
func inputs(ctx context.Context, id Identity, t *v1alpha1.Transform, files map[string][]byte) (values, runtime []string, err error) {
	for i, in := range t.Spec.InputsFrom {
		at := fmt.Sprintf("spec.inputsFrom[%d]", i)
		data, err := input(ctx, id.Client, t, in, at)
		if err == nil && id.Charge != nil {
			err = id.Charge(ctx, int64(len(data)))
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
		name := fmt.Sprintf("%s/%d/%s", hidden, i, shown(in))
		files[name] = data
		target := in.Spec
		if target == "" {
			target = label(t.Name)
		}
		values = append(values, target+":"+name)
	}
	return values, runtime, nil
}

// shown is how messages name an entry: ConfigMap settings/values.yaml.
func shown(in v1alpha1.InputReference) string {
	name := in.Kind + " " + in.Name
	if key := keyOf(in); key != "" {
		name += "/" + key
	}
	return name
}

func keyOf(in v1alpha1.InputReference) string {
	if in.Key == "" && in.Kind == "ConfigMap" {
		return defaultEntry
	}
	return in.Key
}

// input is one entry of inputsFrom as a values file, or the text of a runtime value; nil
// where it is optional and not there.
func input(ctx context.Context, from client.Client, t *v1alpha1.Transform, in v1alpha1.InputReference, at string) ([]byte, error) {
	if in.Kind == "Secret" && in.Runtime != "" {
		return nil, mistake(at+".runtime", "have the module refer to the Secret by its name", "no value of a Secret may enter a render")
	}
	if in.Kind == "Secret" {
		return secretInput(ctx, from, t, in, at)
	}
	text, err := entry(ctx, from, t.Namespace, in)
	if apierrors.IsNotFound(err) || err == errNoText { //nolint:errorlint // it is never wrapped
		if in.Optional {
			return nil, nil
		}
		return nil, waiting(v1alpha1.FetchFailedReason, true, "%s: %s does not exist in namespace %q: create it, or set optional: true", at, shown(in), t.Namespace)
	}
	if err != nil || in.TargetPath == "" {
		return []byte(text), err
	}
	return valuesAt(in.TargetPath, object.Value{Kind: object.KindString, Text: text}, at)
}

// entry is the text of an entry of a ConfigMap.
func entry(ctx context.Context, from client.Client, namespace string, in v1alpha1.InputReference) (string, error) {
	m := &corev1.ConfigMap{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: in.Name}, m); err != nil {
		return "", err
	}
	text, ok := m.Data[keyOf(in)]
	if !ok {
		return "", errNoText
	}
	return text, nil
}

// secretInput is the name and the key of a Secret. Nothing but its metadata is asked
// for, so that no value ever comes here.
func secretInput(ctx context.Context, from client.Client, t *v1alpha1.Transform, in v1alpha1.InputReference, at string) ([]byte, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := from.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: in.Name}, m)
	switch {
	case apierrors.IsNotFound(err) && in.Optional:
		return nil, nil
	case apierrors.IsNotFound(err):
		// Secrets are not watched: the right to watch one is the right to read all.
		return nil, waiting(v1alpha1.FetchFailedReason, false, "%s: Secret %q does not exist in namespace %q: create it, or set optional: true", at, in.Name, t.Namespace)
	case err != nil:
		return nil, err
	}
	text := func(s string) object.Value { return object.Value{Kind: object.KindString, Text: s} }
	v := object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "name", Value: text(in.Name)}}}
	if in.Key != "" {
		v.Members = append(v.Members, object.Member{Name: "key", Value: text(in.Key)})
	}
	return valuesAt(in.TargetPath, v, at)
}

// valuesAt is a values file that has nothing but v, at a path.
func valuesAt(path string, v object.Value, at string) ([]byte, error) {
	set, err := spec.ParseSet(path + "=x")
	if err == nil && set.Spec != "" {
		err = fmt.Errorf("%q names a spec", path)
	}
	if err == nil && slices.ContainsFunc(set.Path, func(s object.Step) bool { return s.IsIndex }) {
		err = fmt.Errorf("%q leads into a list; lists are replaced, not merged", path)
	}
	if err != nil {
		return nil, mistake(at+".targetPath", "write fields joined by dots, such as database.password", "%s", strings.TrimPrefix(err.Error(), "--set "))
	}
	set.Value = v
	whole, err := set.Over(object.Value{Kind: object.KindMap})
	if err != nil {
		return nil, err
	}
	return whole.JSON(), nil
}

// secrets are the Secrets of the Transform's namespace, for the fetchers.
func secrets(from client.Client, namespace string) source.Secrets {
	return source.SecretsFunc(func(ctx context.Context, name string) (map[string][]byte, error) {
		s := &corev1.Secret{}
		err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
		if apierrors.IsNotFound(err) {
			return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("Secret %q does not exist in namespace %q", name, namespace))
		}
		return s.Data, err
	})
}
