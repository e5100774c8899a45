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
	without := s.Input.Kind == object.KindNone || len(s.Input.Members) == 0
	if without && len(s.Req.Expressions) == 0 {
		return diagnose.Filled{Root: s.Compiled.Value}, nil
	}
	c := *s.Compiled
	filled := diagnose.Filled{}
	var file *ast.File
	if !without {
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
		return nil, &object.Error{Stage: object.StageEvaluate, Pos: ExpressionPos(s.Req.Expressions[0]), Err: errors.New("it gives no object: no value in it has both a concrete apiVersion and a concrete kind")}
	}
	if len(w.nodes) == 0 && !w.timoni && !s.Req.AllowEmpty {
		return nil, fmt.Errorf("module %q makes no objects: no value has both a concrete apiVersion and a concrete kind", s.Module.Name())
	}
	w.nodes = withoutCopies(w.nodes)
	return w, object.NameNodes(s.Req.Spec, w.nodes, "give one of them another name, or hide the one that is not meant: _name or #Name")
}

// withoutCopies returns nodes without those whose object equals an earlier one in all of its
// content: one value that is found in two fields is one object.
func withoutCopies(nodes []*object.Node) []*object.Node {
	seen := map[object.Ref][]*object.Node{}
	return slices.DeleteFunc(nodes, func(n *object.Node) bool {
		ref := n.Object.Ref()
		for _, other := range seen[ref] {
			if reflect.DeepEqual(other.Object, n.Object) {
				return true
			}
		}
		seen[ref] = append(seen[ref], n)
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
	// What has no value may be an object, or a condition for one: all that is rendered is
	// concrete, as for `cue export`.
	for _, v := range rendered {
		if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
			return firstPerPlace(s.ErrorsOf(w.filled, "", err))
		}
		w.walk(v)
	}
	return nil
}

// expressions returns what is rendered of a package: what the expressions of the request give in
// it, as for `cue export -e`, or the package if there are none.
func (s *Session) expressions(root cue.Value) ([]cue.Value, error) {
	if len(s.Req.Expressions) == 0 {
		return []cue.Value{root}, nil
	}
	var out []cue.Value
	var errs object.Errors
	for _, text := range s.Req.Expressions {
		x, err := parser.ParseExpr("", text)
		if err == nil {
			v := root.Context().BuildExpr(x, cue.Scope(root), cue.InferBuiltins(true), cue.ImportPath(s.Compiled.instance.ID())) //nolint:staticcheck // a scope is of its own context
			out = append(out, v)
			err = v.Err()
		}
		if err != nil {
			message := diagnose.Message(err)
			errs = append(errs, &object.Error{
				Stage: object.StageEvaluate, Pos: ExpressionPos(text), Err: errors.New(message), Hint: s.Module.Near(message),
			})
		}
	}
	return out, errs.Err()
}

// ExpressionPos returns the position of mistakes in an expression of a request.
func ExpressionPos(text string) object.Pos { return object.Pos{File: "--expression " + text} }

// firstPerPlace keeps one of the errors at one place, that of the value which is not set
// itself: it is missing wherever it is used.
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
	known := diagnose.KnownFields(s.Compiled.Value)
	var errs object.Errors
	for _, m := range s.Input.Members {
		path := object.Path{object.Field(m.Name)}
		if !diagnose.SchemaStep(s.Compiled.Value, path[0]).Exists() {
			errs = append(errs, s.Report(diagnose.Mistake{Path: path, Key: true, Message: diagnose.UnknownField(m.Name, known), Hint: misspeltMark(known)}))
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
		found := fixed.FindStringSubmatch(e.Err.Error())
		if found == nil || e.Hint != "" {
			continue
		}
		kind := "number"
		switch {
		case found[1][0] == '"':
			kind = "string"
		case found[1] == "true" || found[1] == "false":
			kind = "bool"
		case !strings.Contains(found[1], "."):
			kind = "int"
		}
		e.Hint = fmt.Sprintf("the package fixes it: write *%s | %s there, which makes it a default", found[1], kind)
	}
}

// walker looks for objects.
type walker struct {
	session *Session
	filled  diagnose.Filled
	nodes   []*object.Node
	errs    object.Errors
	budget  Budget
	// values are those that the nodes were made of.
	values map[*object.Node]cue.Value
	// timoni is set for the objects of Timoni's apply sets.
	timoni   bool
	warnings object.Errors
	// at is the line of the apply set.
	at object.Pos
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
// objects that templates make, so the line is that of the template.
func (w *walker) pos(v cue.Value) object.Pos {
	if !w.timoni {
		return w.session.nodePos(v)
	}
	kind := Field(v, "kind")
	return object.FirstValid(w.session.OwnPos(kind, v), w.at)
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

// refuseUnlike reports a struct that is an object but for its apiVersion or its kind: one
// is missing or no text, or its name has a slip.
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
	if (version == "apiVersion") == (kind == "kind") || version != "" && kind != "" || metadata.Kind() != cue.StructKind {
		return
	}
	name, other := "apiVersion", "kind"
	if version == "" {
		name, other = other, name
	}
	fail(v, "give it the text "+other+", or hide what is no object: _name or #Name", "this has metadata and the %s %q but no %s, and is no object", name, textAt(v, name), other)
}

// likeText returns the name of the field of v that holds text and is called name, or was meant to
// be. It returns "" if there is none.
func likeText(v cue.Value, name string) string {
	if _, err := v.LookupPath(cue.MakePath(cue.Str(name))).String(); err == nil {
		return name
	}
	fields, err := v.Fields()
	for err == nil && fields.Next() {
		label := fields.Selector().Unquoted()
		text, err := fields.Value().String()
		slips := object.Distance(strings.ToLower(label), strings.ToLower(name))
		if err == nil && slips <= len(name)/4 && label != "appVersion" && (name == "kind" || regexp.MustCompile(`^([\w.-]+/)?v\d\w*$`).MatchString(text)) {
			return label
		}
	}
	return ""
}

// take makes a node of an object, or one of each of its items if it is a List. All of the object is
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
		w.errs = append(w.errs, s.ModuleError(binary.at, binary.at.Path().String(), binary.Error()))
		return
	}
	if err != nil {
		at, _ := numberAt(v, nil, err)
		w.errs = append(w.errs, s.ModuleError(at, at.Path().String(), diagnose.Message(err)))
		return
	}

	// A List stands for its items.
	pos := w.pos(v)
	at := v.Path().String()
	below, mistake := o.Expand()
	if mistake != nil {
		mistake.Stage = object.StageEvaluate
		mistake.Pos = pos
		mistake.Path = strings.Trim(at+"."+mistake.Path, ".")
		w.errs = append(w.errs, mistake)
		return
	}

	// Each object needs an identity.
	for i, o := range below {
		w.budget.objects += min(i, 1) // the first is counted
		if w.timoni && isKustomize(o) {
			e := s.ModuleError(v, at, "configuration of kustomize is left out: it is not an object of the cluster")
			e.Severity = object.SeverityWarning
			w.warnings = append(w.warnings, e)
			continue
		}
		if o.APIVersion() == "" || o.Kind() == "" || o.Name() == "" {
			w.errs = append(w.errs, &object.Error{
				Stage: object.StageEvaluate, Pos: pos, Path: at,
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
// how to read it has a slip. It returns "" if none of its fields has one.
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
