// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// fillPlain unifies the input with the root of a module.
func (s *Session) fillPlain(input object.Value) diagnose.Filled {
	if input.Kind == object.KindNone {
		return s.Fill()
	}
	return s.Fill(diagnose.Part{Field: diagnose.FieldInput, Value: input})
}

// buildPlain returns the module with its input. It is loaded with the input, as a file of the
// package: a fill would give the fields of what it evaluates again another order. With expressions
// it is loaded anew too, because nothing is compiled in the context of what is shared.
func (s *Session) buildPlain() (diagnose.Filled, error) {
	noInput := s.Input.Kind == object.KindNone || len(s.Input.Members) == 0
	if noInput && len(s.Req.Expressions) == 0 {
		return diagnose.Filled{Root: s.Compiled.Value}, nil
	}
	c := *s.Compiled
	filled := diagnose.Filled{}
	var file *ast.File
	if !noInput {
		filled.With, file = diagnose.File(c.instance.PkgName, diagnose.Part{Field: diagnose.FieldInput, Value: s.Input})
	}
	// The session keeps the module without its input, which messages need.
	if err := c.build(s.origin, true, file); err != nil {
		return diagnose.Filled{}, InModule(s.origin, err)
	}
	filled.Root = c.Value
	return filled, nil
}

// collectObjects returns the objects of a plain or a Timoni module, with their ids.
func (s *Session) collectObjects() (*walker, error) {
	w := &walker{session: s, values: map[*object.Node]cue.Value{}, timoni: s.Compiled.Flavour == evaluate.FlavourTimoni}
	collect := w.takePlain
	if w.timoni {
		collect = w.takeTimoni
	}
	if err := collect(); err != nil {
		return nil, err
	}
	if err := w.errs.Err(); err != nil {
		return nil, err
	}
	if err := w.budget.Err(); err != nil {
		return nil, err
	}
	if len(w.nodes) == 0 && len(s.Req.Expressions) > 0 && !s.Req.AllowEmpty {
		return nil, &object.Error{
			Stage: object.StageEvaluate, Pos: ExpressionPos(s.Req.Expressions[0]),
			Err: errors.New("it gives no object: no value in it has both a concrete apiVersion and a concrete kind"),
		}
	}
	if len(w.nodes) == 0 && !w.timoni && !s.Req.AllowEmpty {
		return nil, fmt.Errorf("module %q makes no objects: no value has both a concrete apiVersion and a concrete kind", s.Module.Name())
	}
	w.nodes = withoutCopies(w.nodes)
	return w, object.NameNodes(s.Req.Spec, w.nodes, "give one of them another name, or hide the one that is not meant: _name or #Name")
}

// withoutCopies removes the nodes whose object has the same content as the object of an earlier
// node: a value that is found in two fields is one object.
func withoutCopies(nodes []*object.Node) []*object.Node {
	earlier := map[object.Ref][]*object.Node{}
	return slices.DeleteFunc(nodes, func(n *object.Node) bool {
		ref := n.Object.Ref()
		for _, other := range earlier[ref] {
			if reflect.DeepEqual(other.Object, n.Object) {
				return true
			}
		}
		earlier[ref] = append(earlier[ref], n)
		return false
	})
}

// takePlain takes the objects of a module without a mark: whatever has a concrete
// apiVersion and kind.
func (w *walker) takePlain() error {
	s := w.session
	if err := s.refuseInput(); err != nil {
		return err
	}
	var err error
	w.filled, err = s.buildPlain()
	if err != nil {
		return err
	}
	if err := w.filled.Root.Validate(); err != nil {
		return s.explainPlain(w.filled, err)
	}
	rendered, err := s.expressions(w.filled.Root)
	if err != nil {
		return err
	}
	// A field without a value may be an object, or the condition of an object: everything that is
	// rendered must be concrete, as for `cue export`.
	for _, v := range rendered {
		if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
			return firstPerPlace(s.ErrorsOf(w.filled, "", err))
		}
		w.walk(v)
	}
	return nil
}

// expressions returns the values of a package to render: the values of the expressions of the
// request, as for `cue export -e`, or the package if the request has no expressions.
func (s *Session) expressions(root cue.Value) ([]cue.Value, error) {
	if len(s.Req.Expressions) == 0 {
		return []cue.Value{root}, nil
	}
	var values []cue.Value
	var errs object.Errors
	for _, text := range s.Req.Expressions {
		x, err := parser.ParseExpr("", text)
		if err == nil {
			imports := cue.ImportPath(s.Compiled.instance.ID())
			v := root.Context().BuildExpr(x, cue.Scope(root), cue.InferBuiltins(true), imports) //nolint:staticcheck // a scope is of its own context
			values = append(values, v)
			err = v.Err()
		}
		if err != nil {
			message := diagnose.Message(err)
			errs = append(errs, &object.Error{
				Stage: object.StageEvaluate, Pos: ExpressionPos(text), Err: errors.New(message), Hint: s.Module.Near(message),
			})
		}
	}
	return values, errs.Err()
}

// ExpressionPos returns the position of mistakes in an expression of a request.
func ExpressionPos(text string) object.Pos { return object.Pos{File: "--expression " + text} }

// firstPerPlace keeps one error for each place, and prefers the error about the value that is not
// set itself: every use of that value has an error, too.
func firstPerPlace(err error) error {
	errs := object.AsErrors(err, object.StageEvaluate)
	rank := func(e *object.Error) int {
		if strings.HasPrefix(e.Err.Error(), diagnose.NoValue) {
			return len(e.Path)
		}
		return math.MaxInt
	}
	slices.SortStableFunc(errs, func(a, b *object.Error) int { return cmp.Compare(rank(a), rank(b)) })
	seen := map[object.Pos]bool{}
	return slices.DeleteFunc(errs, func(e *object.Error) bool {
		again := seen[e.Pos]
		seen[e.Pos] = true
		return again
	}).Sorted()
}

// refuseInput refuses what a root without a schema would accept silently: input that is no map, and
// names that the module does not have.
func (s *Session) refuseInput() error {
	switch s.Input.Kind {
	case object.KindNone, object.KindNull:
		s.Input = object.Value{}
		return nil
	case object.KindMap:
	default:
		return s.Report(diagnose.Mistake{Message: "expected a map, got " + diagnose.Quote(s.Input)})
	}
	knownFields := diagnose.KnownFields(s.Compiled.Value)
	var errs object.Errors
	for _, m := range s.Input.Members {
		path := object.Path{object.Field(m.Name)}
		if !diagnose.SchemaStep(s.Compiled.Value, path[0]).Exists() {
			message := diagnose.UnknownField(m.Name, knownFields)
			errs = append(errs, s.Report(diagnose.Mistake{Path: path, Key: true, Message: message, Hint: misspeltMark(knownFields)}))
		}
	}
	return errs.Err()
}

// explainPlain returns what is wrong with a plain module and its input.
func (s *Session) explainPlain(f diagnose.Filled, err error) error {
	try := func(v object.Value) (diagnose.Filled, error) {
		f := s.fillPlain(v)
		return f, f.Root.Validate()
	}
	touched := false
	for _, g := range (diagnose.Scope{}).Groups(err, f.With, object.Value{}) {
		touched = touched || len(g.Entries) > 0
	}
	if touched {
		if errs := s.InputErrorsOf(s.Compiled.Value, 0, try); len(errs) > 0 {
			addDefaultHints(errs)
			return errs.Sorted()
		}
	}
	return s.ErrorsOf(f, "", err)
}

// addDefaultHints adds to errors about values that the package fixes how they become defaults.
func addDefaultHints(errs object.Errors) {
	fixed := regexp.MustCompile(`^expected (-?[0-9][0-9.]*|true|false|"[^"]*"), got `)
	for _, e := range errs {
		match := fixed.FindStringSubmatch(e.Err.Error())
		if match == nil || e.Hint != "" {
			continue
		}
		kind := "number"
		switch {
		case match[1][0] == '"':
			kind = "string"
		case match[1] == "true" || match[1] == "false":
			kind = "bool"
		case !strings.Contains(match[1], "."):
			kind = "int"
		}
		e.Hint = fmt.Sprintf("the package fixes it: write *%s | %s there, which makes it a default", match[1], kind)
	}
}

// walker looks for objects.
type walker struct {
	session *Session
	filled  diagnose.Filled
	nodes   []*object.Node
	errs    object.Errors
	budget  Budget
	// values holds the value that each node was made of.
	values map[*object.Node]cue.Value
	// timoni is set for the objects of Timoni's apply sets.
	timoni   bool
	warnings object.Errors
	// setPos is the line of the apply set.
	setPos object.Pos
}

func (w *walker) walk(v cue.Value) {
	if w.budget.Err() != nil {
		return
	}
	v, _ = v.Default()
	switch v.IncompleteKind() {
	case cue.ListKind:
		items, err := v.List()
		for err == nil && items.Next() {
			w.walk(items.Value())
		}
	case cue.StructKind:
		if IsObject(v) {
			w.take(v)
			return
		}
		w.refuseUnlike(v)
		fields, err := v.Fields()
		for err == nil && fields.Next() {
			w.walk(fields.Value())
		}
	}
}

// pos returns the line of the module that made the object v. The sets of a Timoni module only list
// objects that templates make, so it returns the line of the template.
func (w *walker) pos(v cue.Value) object.Pos {
	if !w.timoni {
		return w.session.nodePos(v)
	}
	kind := Field(v, "kind")
	return object.FirstValid(w.session.OwnPos(kind, v), w.setPos)
}

// IsObject reports whether v has a concrete apiVersion and a concrete kind.
func IsObject(v cue.Value) bool {
	for _, name := range []string{"apiVersion", "kind"} {
		if _, err := v.LookupPath(cue.MakePath(cue.Str(name))).String(); err != nil {
			return false
		}
	}
	return true
}

// refuseUnlike reports a struct that is an object but for its apiVersion or its kind: the field is
// missing, is no text, or its name has a slip.
func (w *walker) refuseUnlike(v cue.Value) {
	fail := func(at cue.Value, hint, format string, args ...any) {
		e := w.session.ModuleError(at, at.Path().String(), fmt.Sprintf(format, args...))
		e.Hint = hint
		w.errs = append(w.errs, e)
	}
	field := func(name string) cue.Value { return Field(v, name) }
	version, kind := likeText(v, "apiVersion"), likeText(v, "kind")
	for _, names := range [][2]string{{"apiVersion", version}, {"kind", kind}} {
		name, like := names[0], names[1]
		if version != "" && kind != "" && like != name {
			fail(field(like), fmt.Sprintf("did you mean %q?", name), "field %q is not known, and without %s this is no object", like, name)
		}
	}
	metadata, _ := field("metadata").Default()
	oneIsRight := (version == "apiVersion") != (kind == "kind")
	oneIsAbsent := version == "" || kind == ""
	if !oneIsRight || !oneIsAbsent || metadata.Kind() != cue.StructKind {
		return
	}
	name, other := "apiVersion", "kind"
	if version == "" {
		name, other = other, name
	}
	hint := "give it the text " + other + ", or hide what is no object: _name or #Name"
	fail(v, hint, "this has metadata and the %s %q but no %s, and is no object", name, textAt(v, name), other)
}

// likeText returns the name of the field of v that holds text and is called name, or was meant to
// be. It returns "" if v has no such field.
func likeText(v cue.Value, name string) string {
	if _, err := v.LookupPath(cue.MakePath(cue.Str(name))).String(); err == nil {
		return name
	}

	// A field of a similar name must hold a version to be taken for an apiVersion.
	version := regexp.MustCompile(`^([\w.-]+/)?v\d\w*$`)
	fields, err := v.Fields()
	for err == nil && fields.Next() {
		label := fields.Selector().Unquoted()
		text, err := fields.Value().String()
		if err != nil || label == "appVersion" || object.Distance(strings.ToLower(label), strings.ToLower(name)) > len(name)/4 {
			continue
		}
		if name == "kind" || version.MatchString(text) {
			return label
		}
	}
	return ""
}

// take makes a node of an object, or of each of its items if it is a List. All of the object is
// concrete.
func (w *walker) take(v cue.Value) {
	s := w.session
	o, err := w.budget.export(v)
	if err == nil && w.timoni {
		err = asTimoni(v, o)
	}

	// Some values cannot be part of an object.
	var binary *notText
	if errors.As(err, &binary) {
		w.errs = append(w.errs, s.ModuleError(binary.value, binary.value.Path().String(), binary.Error()))
		return
	}
	if err != nil {
		valuePath, _ := numberAt(v, nil, err)
		w.errs = append(w.errs, s.ModuleError(valuePath, valuePath.Path().String(), diagnose.Message(err)))
		return
	}

	// A List stands for its items.
	pos := w.pos(v)
	valuePath := v.Path().String()
	objects, mistake := o.Expand()
	if mistake != nil {
		mistake.Stage = object.StageEvaluate
		mistake.Pos = pos
		mistake.Path = strings.Trim(valuePath+"."+mistake.Path, ".")
		w.errs = append(w.errs, mistake)
		return
	}

	// Each object needs an identity.
	for i, o := range objects {
		w.budget.objects += min(i, 1) // the first is counted
		if w.timoni && isKustomize(o) {
			e := s.ModuleError(v, valuePath, "configuration of kustomize is left out: it is not an object of the cluster")
			e.Severity = object.SeverityWarning
			w.warnings = append(w.warnings, e)
			continue
		}
		if o.APIVersion() == "" || o.Kind() == "" || o.Name() == "" {
			w.errs = append(w.errs, &object.Error{
				Stage: object.StageEvaluate, Pos: pos, Path: valuePath,
				Err:  fmt.Errorf("an object needs apiVersion, kind and metadata.name, got %q, %q and %q", o.APIVersion(), o.Kind(), o.Name()),
				Hint: o.NameHint(),
			})
			continue
		}
		n := &object.Node{Object: o, Pos: pos, SpecPos: s.Req.Pos}
		w.nodes = append(w.nodes, n)
		w.values[n] = v
	}
}

// misspeltMark returns the hint for a module that is read as plain CUE because the field that says
// how to read it has a slip. It returns "" if no field has a slip.
func misspeltMark(fields []string) string {
	for _, name := range fields {
		for _, mark := range []string{"ropewalk", "timoni"} {
			if object.Distance(name, mark) == 1 {
				return fmt.Sprintf("the module is read as plain CUE: did you mean its field %q to be %q?", name, mark)
			}
		}
	}
	return ""
}
