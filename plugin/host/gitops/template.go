// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a template of an ApplicationSet.
const (
	maxSteps    = 100_000
	maxOutput   = 4 << 20
	maxArgument = 16 << 10
)

// templater fills the templates of an ApplicationSet, or of a ResourceSet.
type templater struct {
	ctx context.Context //nolint:containedctx // functions of templates get no argument for it
	// goTemplate is that of the ApplicationSet, and options are those of the template.
	goTemplate bool
	options    []string
	// left and right are the delimiters, {{ and }} by default, and own are further functions.
	left, right string
	own         template.FuncMap
	steps       int
}

// fill returns v with the parameters in its texts, and in the names of its fields.
func (t *templater) fill(v object.Value, params map[string]any) (object.Value, error) {
	var err error
	switch v.Kind { //nolint:exhaustive // other kinds have no text
	case object.KindString:
		v.Text, err = t.text(v.Text, params)
	case object.KindList:
		items := make([]object.Value, len(v.Items))
		for i, item := range v.Items {
			items[i], err = t.fill(item, params)
			if err != nil {
				return v, err
			}
		}
		v.Items = items
	case object.KindMap:
		members := make([]object.Member, len(v.Members))
		for i, m := range v.Members {
			m.Name, err = t.text(m.Name, params)
			if err == nil {
				m.Value, err = t.fill(m.Value, params)
			}
			if err != nil {
				return v, err
			}
			members[i] = m
		}
		v.Members = members
	}
	if err != nil {
		err = mistake(v.Pos, "", "the template cannot be filled: %w", err)
	}
	return v, err
}

// text fills one text.
func (t *templater) text(text string, params map[string]any) (string, error) {
	if !strings.Contains(text, cmp.Or(t.left, "{{")) {
		return text, nil
	}
	if !t.goTemplate {
		return plainTemplate(text, params)
	}
	made, err := template.New("").Delims(t.left, t.right).Funcs(t.functions()).Option(t.options...).Parse(text)
	if err != nil {
		return "", plainError(err)
	}
	for _, defined := range made.Templates() {
		if defined.Tree != nil {
			count(defined.Root)
		}
	}
	out := limited{left: maxOutput}
	if err := made.Execute(&out, params); err != nil {
		return "", plainError(err)
	}
	return out.String(), nil
}

// plainError returns an error of a template without its own name and place: the text has those of
// the ApplicationSet.
func plainError(err error) error {
	text := regexp.MustCompile(`^template: :?[0-9:]*( executing "" at )?:? ?`).ReplaceAllString(err.Error(), "")
	return errors.New(text)
}

// functions returns the functions of a template: those of Argo CD that give the same for the same
// parameters.
func (t *templater) functions() template.FuncMap {
	out := sprig.HermeticTxtFuncMap()
	maps.Copy(out, template.FuncMap{
		"normalize": normalize,
		"slugify":   slugify,
		"toYaml": func(v any) (string, error) {
			data, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(data), "\n"), err
		},
		"fromYaml":      func(text string) (out map[string]any, err error) { return out, yaml.Unmarshal([]byte(text), &out) },
		"fromYamlArray": func(text string) (out []any, err error) { return out, yaml.Unmarshal([]byte(text), &out) },
		"until":         func(n int) ([]int, error) { return t.numbers(0, n, 1) },
		"untilStep":     t.numbers,
		"repeat": func(n int, text string) (string, error) {
			if n < 0 || n*len(text) > maxOutput {
				return "", fmt.Errorf("repeat makes more than %d bytes", maxOutput)
			}
			return strings.Repeat(text, n), nil
		},
		"indent": indent,
		"nindent": func(n int, text string) (string, error) {
			text, err := indent(n, text)
			return "\n" + text, err
		},
		// The library has these too, without a bound.
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		stepName: t.step,
	})
	seq, _ := out["seq"].(func(...int) string)
	out["seq"] = func(numbers ...int) (string, error) {
		if len(numbers) > 0 && slices.Max(numbers)-min(slices.Min(numbers), 0) > maxSteps {
			return "", fmt.Errorf("it counts further than %d", maxSteps)
		}
		return seq(numbers...), nil
	}
	maps.Copy(out, t.own)
	for name, function := range out {
		out[name] = bounded(name, function)
	}
	return out
}

// indent returns a text with n blanks before each line.
func indent(n int, text string) (string, error) {
	if n < 0 || n*(strings.Count(text, "\n")+1) > maxOutput {
		return "", fmt.Errorf("indent makes more than %d bytes", maxOutput)
	}
	blanks := strings.Repeat(" ", n)
	return blanks + strings.ReplaceAll(text, "\n", "\n"+blanks), nil
}

// bounded returns a function that refuses long texts: one that replaces a letter by a text makes of
// two texts one of the product of their lengths. Those for YAML and JSON take what an output may be.
func bounded(name string, function any) any {
	most := maxArgument
	if slices.Contains([]string{"toYaml", "mustToYaml", "fromYaml", "fromYamlArray", "toJson", "fromJson", "indent", "nindent", "print", "println"}, name) {
		most = maxOutput
	}
	call := reflect.ValueOf(function)
	kind := call.Type()
	return reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
		if size := sizeOf(args); size > most {
			panic(fmt.Errorf("%s is called with more than %d bytes", name, most)) // The library returns it as an error.
		}
		if kind.IsVariadic() {
			return call.CallSlice(args)
		}
		return call.Call(args)
	}).Interface()
}

// sizeOf returns how long the texts among arguments are, also those in lists.
func sizeOf(args []reflect.Value) int {
	size := 0
	for _, arg := range args {
		for arg.Kind() == reflect.Interface {
			arg = arg.Elem()
		}
		switch arg.Kind() { //nolint:exhaustive // others have no text of any length
		case reflect.String:
			size += arg.Len()
		case reflect.Slice:
			items := make([]reflect.Value, arg.Len())
			for i := range items {
				items[i] = arg.Index(i)
			}
			size += sizeOf(items)
		case reflect.Map:
			for _, key := range arg.MapKeys() {
				size += sizeOf([]reflect.Value{key, arg.MapIndex(key)})
			}
		}
	}
	return size
}

// numbers returns the numbers from start up to stop, and refuses too many.
func (t *templater) numbers(start, stop, step int) ([]int, error) {
	if step == 0 || (stop-start)/step > maxSteps {
		return nil, fmt.Errorf("it counts further than %d", maxSteps)
	}
	var out []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, i)
	}
	return out, nil
}

// stepName is the function that each round of a loop calls.
const stepName = "ropewalkStep"

// step counts a round of a loop.
func (t *templater) step() (string, error) {
	t.steps++
	if t.steps > maxSteps {
		return "", fmt.Errorf("its loops have more than %d rounds", maxSteps)
	}
	return "", t.ctx.Err()
}

// count makes each round of each loop below a node, and each call of a template, call the function
// that counts them: the library has no way to end a loop that prints nothing.
func count(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.RangeNode:
			count(n.List)
			count(n.ElseList)
		case *parse.IfNode:
			count(n.List)
			count(n.ElseList)
		case *parse.WithNode:
			count(n.List)
			count(n.ElseList)
		}
	}
	call := template.Must(template.New("").Funcs(template.FuncMap{stepName: func() string { return "" }}).Parse("{{" + stepName + "}}"))
	list.Nodes = append(append([]parse.Node{}, call.Root.Nodes...), list.Nodes...)
}

// limited is a text that refuses to grow beyond a bound.
type limited struct {
	strings.Builder
	left int
}

// Write implements [io.Writer].
func (l *limited) Write(data []byte) (int, error) {
	l.left -= len(data)
	if l.left < 0 {
		return 0, fmt.Errorf("it makes more than %d bytes", maxOutput)
	}
	return l.Builder.Write(data)
}

// plainTemplate fills {{name}} in a text. One that has no value, or none that is a text, stays as in
// Argo CD.
func plainTemplate(text string, params map[string]any) (string, error) {
	if !regexp.MustCompile(`\{\{.*\}\}`).MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, isOpen := strings.Cut(text, "{{")
		b.WriteString(before)
		if !isOpen {
			return b.String(), nil
		}
		tag, after, isClosed := strings.Cut(rest, "}}")
		if !isClosed {
			return "", errors.New("{{ is not closed by }}")
		}
		if value, ok := params[strings.TrimSpace(tag)].(string); ok {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		text = after
	}
}

// normalize returns a text as Argo CD makes a name of it: small letters, digits, - and ., at most
// 253.
func normalize(text string) string {
	const most = 253
	text = regexp.MustCompile(`[^a-z0-9.-]`).ReplaceAllString(strings.ToLower(text), "-")
	if len(text) > most {
		text = text[:most]
	}
	return strings.Trim(text, "-.")
}

// slugify returns a text as Argo CD makes a part of a URL of it. The last argument is the text; before
// it there may be how long the result is, 50 by default, and whether it ends between words.
func slugify(args ...any) (string, error) {
	most, smart, name, ok := 50, true, "", true
	if n := len(args); n > 0 {
		name, ok = args[n-1].(string)
		if n > 1 && ok {
			most, ok = args[0].(int)
		}
		if n > 2 && ok {
			smart, ok = args[1].(bool)
		}
	}
	if !ok || most < 0 {
		return "", errors.New("slugify takes how long the result is, true or false, and a text")
	}
	text := normalize(name)
	if !smart && len(text) > most {
		text = text[:most]
	}
	text = strings.Trim(regexp.MustCompile(`[.-]+`).ReplaceAllString(text, "-"), "-")
	if !smart || most == 0 || len(text) <= most {
		return text, nil
	}
	if end := strings.LastIndex(text[:most+1], "-"); end >= 0 {
		return text[:end], nil
	}
	return text[:most], nil
}

// patched returns an Application with a templatePatch over it, by a strategic merge. The project stays
// that of the template.
func (g generating) patched(v, patch object.Value, params map[string]any) (object.Value, error) {
	text, err := g.text(patch.Text, params)
	if err != nil {
		return v, mistake(patch.Pos, "", "templatePatch: %w", err)
	}
	var content any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		return v, mistake(patch.Pos, "", "templatePatch makes no YAML: %w", err)
	}
	top := valueOf(content, object.Value{Pos: patch.Pos})
	switch top.Kind { //nolint:exhaustive // others are no patch
	case object.KindNull:
		return v, nil
	case object.KindMap:
	default:
		return v, mistake(patch.Pos, "", "templatePatch makes no map")
	}

	// Finalizers are the only list that is merged.
	finalizers := lookup(top, "metadata", "finalizers")
	for _, item := range lookup(v, "metadata", "finalizers").Items {
		if len(finalizers.Items) > 0 && !slices.Contains(texts(finalizers), item.Text) {
			finalizers.Items = append(slices.Clip(finalizers.Items), item)
		}
	}
	out, err := strategic(v, top)
	if len(finalizers.Items) > 0 {
		out = out.Merge(nestedIn([]string{"metadata", "finalizers"}, finalizers))
	}
	project := object.Fields("spec", "project")
	out = out.Without(project)
	if own := lookup(v, "spec", "project"); own.Kind != object.KindNone {
		out = out.Merge(nestedIn([]string{"spec", "project"}, own))
	}
	return out, err
}

// strategic returns a map with a patch over it: null removes a field, and $patch replaces or removes
// a map.
func strategic(v, patch object.Value) (object.Value, error) {
	out := v
	if out.Kind != object.KindMap {
		out = object.Value{Kind: object.KindMap, Pos: patch.Pos}
	}
	switch directive := patch.TextOf("$patch"); directive {
	case "":
	case "replace", "delete":
		out.Members = nil
		if directive == "delete" {
			return out, nil
		}
	default:
		return out, mistake(patch.Pos, "write replace or delete", "the directive $patch: %s of templatePatch is unknown", directive)
	}
	for _, m := range patch.Members {
		switch {
		case m.Name == "$patch":
			continue
		case strings.HasPrefix(m.Name, "$"):
			return out, mistake(m.Pos, "", "the directive %s of templatePatch is not carried over", m.Name)
		}
		value := m.Value
		if value.Kind == object.KindMap {
			below, err := strategic(lookup(out, m.Name), value)
			if err != nil {
				return out, err
			}
			value = below
		}
		out = out.Without(object.Fields(m.Name)).Merge(mapOf(out.Pos, member(m.Name, value)))
	}
	return out, nil
}
