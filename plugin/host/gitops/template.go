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
	// maxWork bounds what all templates of one ApplicationSet or ResourceSet do: the bytes that their
	// functions take and return, and callWork for each call and each round of a loop.
	maxWork  = 256 << 20
	callWork = 64
	// scryptWork is what a call costs that makes a key of a password.
	scryptWork = 32 << 20
	// maxDepth is how deep values are nested.
	maxDepth = 100
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
	// steps are the rounds of the loops of one text, and work is what is left of maxWork.
	steps int
	work  *int
	// known are the functions, and parsed are the templates by their texts.
	known  template.FuncMap
	parsed map[string]*template.Template
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
	made, err := t.parse(text)
	if err != nil {
		return "", plainError(err)
	}
	t.steps = 0
	out := limited{left: maxOutput}
	if err := made.Execute(&out, params); err != nil {
		return "", plainError(err)
	}
	return out.String(), nil
}

// parse returns the template of a text. It is parsed once: each element of a generator fills it.
func (t *templater) parse(text string) (*template.Template, error) {
	if known := t.parsed[text]; known != nil {
		return known, nil
	}
	if t.known == nil {
		t.known, t.parsed = t.functions(), map[string]*template.Template{}
	}
	made, err := template.New("").Delims(t.left, t.right).Funcs(t.known).Option(t.options...).Parse(text)
	if err != nil {
		return nil, err
	}
	for _, defined := range made.Templates() {
		if defined.Tree != nil {
			count(defined.Root)
		}
	}
	t.parsed[text] = made
	return made, nil
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
	for _, name := range []string{ // The library takes these for hermetic.
		"ago", "toDate", "mustToDate", "shuffle", "randInt", "bcrypt", "htpasswd", "encryptAES", "genPrivateKey", "buildCustomCert",
		"genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	} {
		delete(out, name)
	}
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
		// The library has these too, without a bound, or in the order of a map.
		"print": fmt.Sprint, "printf": formatted, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"keys": keys, "values": values,
		stepName: t.step,
	})
	seq, _ := out["seq"].(func(...int) string)
	out["seq"] = func(numbers ...int) (string, error) {
		if slices.ContainsFunc(numbers, func(n int) bool { return n > maxSteps || n < -maxSteps }) {
			return "", fmt.Errorf("it counts further than %d", maxSteps)
		}
		return seq(numbers...), nil
	}
	maps.Copy(out, t.own)
	for name, function := range out {
		out[name] = t.bounded(name, function)
	}
	return out
}

// wide matches a verb of printf with a width of four digits or more, or one that is an argument.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{4}|\*)`)

// formatted writes a text as printf does, with bounded widths.
func formatted(format string, args ...any) (string, error) {
	if wide.MatchString(format) {
		return "", errors.New("printf takes widths of at most 999")
	}
	return fmt.Sprintf(format, args...), nil
}

// keys returns the names in maps, sorted within each.
func keys(all ...map[string]any) []string {
	var out []string
	for _, m := range all {
		out = append(out, object.SortedKeys(m)...)
	}
	return out
}

// values returns what is in a map, in the order of its names.
func values(fields map[string]any) []any {
	out := make([]any, 0, len(fields))
	for _, name := range object.SortedKeys(fields) {
		out = append(out, fields[name])
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
// A function that would make a map of itself, such as set, is refused before anything prints the map.
func (t *templater) bounded(name string, function any) any {
	most := maxArgument
	if slices.Contains([]string{"toYaml", "mustToYaml", "fromYaml", "fromYamlArray", "toJson", "fromJson", "indent", "nindent", "print", "println"}, name) {
		most = maxOutput
	}
	cost := callWork
	if name == "derivePassword" {
		cost = scryptWork
	}
	call := reflect.ValueOf(function)
	kind := call.Type()
	return reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
		size := sizeOf(args, most, 0)
		if size > most {
			panic(fmt.Errorf("%s is called with more than %d bytes", name, most)) // The library returns it as an error.
		}
		var out []reflect.Value
		if kind.IsVariadic() {
			out = call.CallSlice(args)
		} else {
			out = call.Call(args)
		}
		if err := t.spend(cost + size + sizeOf(out, maxWork, 0)); err != nil {
			panic(err)
		}
		return out
	}).Interface()
}

// spend takes from the work that is left.
func (t *templater) spend(work int) error {
	*t.work -= work
	if *t.work < 0 {
		return errors.New("the templates do more than can be done here")
	}
	return nil
}

// sizeOf returns how long the texts among values are, with those in lists and maps, where each other
// value counts as a few bytes. What is longer than most, or too deep, is just more than it.
func sizeOf(values []reflect.Value, most, depth int) int {
	const each = 8
	size := 0
	for _, v := range values {
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		size += each
		switch v.Kind() { //nolint:exhaustive // others have no text of any length
		case reflect.String:
			size += v.Len() - each
		case reflect.Slice:
			if kind := v.Type().Elem().Kind(); kind != reflect.String && kind != reflect.Interface && kind != reflect.Map && kind != reflect.Slice {
				size += v.Len() * int(v.Type().Elem().Size())
				break
			}
			for i := 0; i < v.Len() && size <= most && depth < maxDepth; i++ {
				size += sizeOf([]reflect.Value{v.Index(i)}, most-size, depth+1)
			}
		case reflect.Map:
			for rest := v.MapRange(); size <= most && depth < maxDepth && rest.Next(); {
				size += sizeOf([]reflect.Value{rest.Key(), rest.Value()}, most-size, depth+1)
			}
		}
		if size > most || depth >= maxDepth {
			return most + 1
		}
	}
	return size
}

// numbers returns the numbers from start up to stop, and refuses too many.
func (t *templater) numbers(start, stop, step int) ([]int, error) {
	isFar := max(start, stop, step) > maxNumber || min(start, stop, step) < -maxNumber // A difference would not fit.
	if step == 0 || isFar || (stop-start)/step > maxSteps {
		return nil, fmt.Errorf("it counts further than %d", maxSteps)
	}
	var out []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, i)
	}
	return out, nil
}

// maxNumber is how far from 0 a loop may count.
const maxNumber = 1 << 40

// stepName is the function that each round of a loop calls.
const stepName = "ropewalkStep"

// step counts a round of a loop.
func (t *templater) step() (string, error) {
	t.steps++
	if t.steps > maxSteps {
		return "", fmt.Errorf("its loops have more than %d rounds", maxSteps)
	}
	return "", cmp.Or(t.ctx.Err(), t.spend(callWork))
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
