// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Fields of a Timoni module, from the layout that timoni.sh documents.
const (
	fieldTimoni = "timoni"
	fieldValues = "values"
	valuesFile  = "values.cue"
)

// Annotations by which a Timoni module speaks about applying an object.
const (
	actionForce  = "action.timoni.sh/force"
	actionOneOff = "action.timoni.sh/one-off"
	actionPrune  = "action.timoni.sh/prune"
	actionWait   = "action.timoni.sh/wait"
)

// takeTimoni takes the objects of a Timoni module: its apply sets in order.
func (w *walker) takeTimoni() error {
	s := w.session
	var err error
	w.filled, err = s.buildTimoni()
	if err != nil {
		return err
	}
	if field, err := s.invalidTimoni(w.filled); err != nil {
		return s.withMissing(s.explainTimoni(w.filled, field, err))
	}
	sets, err := Field(w.filled.Root, fieldTimoni, "apply").Fields()
	if err != nil {
		return fmt.Errorf("module %q has no timoni.apply: it makes no objects", s.Module.Name())
	}
	for n := 1; sets.Next(); n++ {
		before := len(w.nodes)
		w.takeSet(sets.Selector().Unquoted(), sets.Value())
		for _, node := range w.nodes[before:] {
			node.Set = n
			node.SetName = sets.Selector().Unquoted()
			translateActions(node)
		}
	}
	w.translateHealthChecks(Field(w.filled.Root, fieldTimoni, "healthChecks"))
	return nil
}

// withMissing returns err. If something is incomplete, it returns the runtime values that are not
// set instead.
func (s *Session) withMissing(err error) error {
	t := s.Compiled.timoni
	phrases := []string{"is missing", "has no value", "incomplete value", "non-concrete value"}
	incomplete := slices.ContainsFunc(phrases, func(text string) bool { return strings.Contains(err.Error(), text) })
	if !incomplete || len(evaluate.RuntimeNames(t.data)) == 0 {
		return err
	}
	f, parseErr := parser.ParseFile(path.Join(virtualRoot, t.file), t.data)
	if parseErr != nil {
		return err
	}
	if missing := missingRuntime(s.origin, s.Compiled.Tree, []*ast.File{f}); len(missing) > 0 {
		return missing.Sorted()
	}
	return err
}

// mergedValues merges the input over the module's own values, because CUE cannot
// override the concrete ones among them.
func (s *Session) mergedValues() (object.Value, error) {
	values, soft, err := s.Compiled.ownValues(s.origin, s.Input)
	if err != nil {
		return values, err
	}
	if errs := s.refuseUnequalLists(values, s.Input, nil); len(errs) > 0 {
		return values, errs.Sorted()
	}
	s.soft = soft
	switch s.Input.Kind {
	case object.KindNone, object.KindNull:
		return values, nil
	case object.KindMap:
		layers := s.Req.Layers
		if len(layers) == 0 {
			layers = []object.Value{s.Input}
		}
		for _, layer := range layers {
			values = mergeAsTimoni(values, layer, true)
		}
		return values, nil
	default:
		return values, s.Report(diagnose.Mistake{Message: "expected a map of values, got " + diagnose.Quote(s.Input)})
	}
}

// fillValues returns the module with its values.
func (s *Session) fillValues(values object.Value) diagnose.Filled {
	if values.Kind == object.KindNone {
		return s.Fill()
	}
	return s.Fill(diagnose.Part{Field: diagnose.FieldInput, At: []string{fieldValues}, Value: values, Soft: s.soft})
}

// refuseUnequalLists refuses lists that would have to be merged item by item with a list of another
// length: Timoni silently cuts the longer one off.
func (s *Session) refuseUnequalLists(base, overlay object.Value, path object.Path) object.Errors {
	lists := base.Kind == object.KindList && overlay.Kind == object.KindList
	if lists && len(base.Items) > 0 && len(base.Items) != len(overlay.Items) {
		e := s.Report(diagnose.Mistake{Path: path, Message: fmt.Sprintf(
			"this list has %s and the module's own in %s has %d: Timoni would cut the longer one off",
			printable.Count(len(overlay.Items), "item"), valuesFile, len(base.Items))})
		e.Hint = "give as many items as the module, or make its list empty"
		return object.Errors{e}
	}
	var errs object.Errors
	for _, m := range overlay.Members {
		if b, ok := base.Get(m.Name); ok {
			errs = append(errs, s.refuseUnequalLists(b, m.Value, path.Append(object.Field(m.Name)))...)
		}
	}
	return errs
}

// invalidTimoni returns the first part of a module that is invalid, with what CUE has against it.
func (s *Session) invalidTimoni(f diagnose.Filled) (string, error) {
	if err := f.Root.LookupPath(cue.MakePath(cue.Str(fieldValues))).Validate(); err != nil && s.Has(fieldValues) {
		return fieldValues, err
	}
	version := Field(f.Root, fieldTimoni, "apiVersion")
	if text, err := version.String(); err != nil || text != apiVersion {
		const field = "timoni.apiVersion"
		return field, s.ModuleError(version, field, fmt.Sprintf("version %s is not supported, expected %q", diagnose.Given(version), apiVersion))
	}
	for _, name := range []string{"instance", "apply"} {
		v := Field(f.Root, fieldTimoni, name)
		if !v.Exists() {
			continue
		}
		if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
			return fieldTimoni + "." + name, err
		}
	}
	// A condition or a loop around these that cannot be decided makes nothing.
	return "", cmp.Or(f.Root.LookupPath(cue.MakePath(cue.Str(fieldTimoni))).Err(), f.Root.Err())
}

// explainTimoni returns each mistake with its place in the values. CUE knows the place if values
// are filled into the module without its own values, and reports one mistake at a time.
func (s *Session) explainTimoni(f diagnose.Filled, field string, err error) error {
	var ours *object.Error
	if errors.As(err, &ours) {
		return err
	}
	d, openErr := s.withoutValues()
	if openErr != nil {
		return openErr
	}
	d.Input, openErr = d.mergedValues()
	if openErr != nil {
		return openErr
	}
	again := d.fillValues(d.Input)
	if field, err := d.invalidTimoni(again); err != nil {
		return d.valuesErrors(again, field, err)
	}
	return s.ErrorsOf(f, field, err)
}

// valuesErrors returns all that is wrong with values, or with what the module makes of them.
func (s *Session) valuesErrors(f diagnose.Filled, field string, err error) error {
	values := cue.MakePath(cue.Str(fieldValues))
	switch field {
	case fieldValues:
		try := func(v object.Value) (diagnose.Filled, error) {
			f := s.fillValues(v)
			return f, f.Root.LookupPath(values).Validate()
		}
		if errs := s.InputErrorsOf(s.Compiled.Value.LookupPath(values), 1, try); len(errs) > 0 {
			return errs.Sorted()
		}
	case fieldTimoni + ".instance", fieldTimoni + ".apply":
		return s.instanceErrors(f, field, err)
	}
	return s.ErrorsOf(f, field, err)
}

// instanceErrors returns what is wrong with what a module makes of its values. What is missing in
// timoni.instance.config is missing in the values, which have the same schema.
func (s *Session) instanceErrors(f diagnose.Filled, field string, err error) error {
	config := object.Fields(fieldTimoni, "instance", "config")
	schema := s.Compiled.Value.LookupPath(cue.MakePath(cue.Str(fieldValues)))
	var missing object.Errors
	for _, g := range (diagnose.Scope{}).Groups(err, f.With, object.Value{}) {
		if !diagnose.IsPrefix(config, g.Path) || !diagnose.IsIncomplete(g) || len(g.Errs) == 0 {
			continue
		}
		path := g.Path[len(config):]
		at := diagnose.SchemaAt(schema, path)
		m := diagnose.Mistake{Path: path, Missing: true, Message: "is missing", Demands: diagnose.Demands(g, f.With, at)}
		if text := diagnose.Expected(at); text != "" {
			m.Message += ", expected " + text
		}
		missing = append(missing, s.Report(m))
	}
	if len(missing) > 0 {
		return missing.Sorted()
	}
	return s.ErrorsOf(f, field, err)
}

// takeSet takes the objects of one apply set.
func (w *walker) takeSet(name string, v cue.Value) {
	items, err := v.List()
	if err != nil {
		w.errs = append(w.errs, w.session.ModuleError(v, "timoni.apply."+name, "must be a list of objects"))
		return
	}
	w.setPos = w.session.OwnPos(v)
	for items.Next() {
		if item, _ := items.Value().Default(); item.IncompleteKind() != cue.NullKind {
			w.take(item)
		}
	}
}

// isKustomize reports whether o is configuration of kustomize, which Timoni
// leaves out because it is no object of a cluster.
func isKustomize(o object.Object) bool { return o.Group() == "kustomize.config.k8s.io" }

// translateActions makes policies of Timoni's annotations, which stay on the
// object as their author wrote them.
func translateActions(n *object.Node) {
	notes := n.Object.Annotations()
	if notes[actionForce] == "enabled" {
		n.Apply.Mode = object.ModeForce
	}
	if notes[actionOneOff] == "enabled" {
		n.Apply.Mode = object.ModeCreate
	}
	if notes[actionPrune] == "disabled" {
		prune := false
		n.Apply.Prune = &prune
	}
	if notes[actionWait] == "disabled" {
		n.ReadyWhen = []object.Ready{{Type: object.ReadyExists, Pos: n.Pos}}
	}
}

// translateHealthChecks translates the checks that only ask for a condition. Free CUE over a live
// object has no equivalent and is reported.
func (w *walker) translateHealthChecks(v cue.Value) {
	fields, err := v.Fields()
	if !v.Exists() || err != nil {
		return
	}
	for fields.Next() {
		// A check is for the objects of a group and a kind.
		check := fields.Value()
		group, kind := textAt(check, "group"), textAt(check, "kind")
		condition := textAt(check, "conditionType")
		judged := func(n *object.Node) bool {
			return n.Object.Group() == group && (kind == "" || n.Object.Kind() == kind)
		}
		if !slices.ContainsFunc(w.nodes, judged) {
			continue
		}

		// Only a condition has an equivalent.
		if condition == "" {
			e := w.session.ModuleError(Field(check, "group"), "timoni.healthChecks."+fields.Selector().String(),
				"this health check is free CUE over the live object and cannot be translated: objects of that kind are ready when the engine says so")
			e.Severity = object.SeverityWarning
			e.Hint = "a check for a condition (conditionType) can be translated"
			w.warnings = append(w.warnings, e)
			continue
		}

		// An object keeps the rules that it has already.
		for _, n := range w.nodes {
			if !judged(n) || len(n.ReadyWhen) > 0 {
				continue
			}
			n.ReadyWhen = []object.Ready{{
				Type: object.ReadyConditionMatch, Condition: condition, Status: "True", Pos: w.session.OwnPos(Field(check, "group"), check),
			}}
		}
	}
}

// textAt returns the text of a field, or "" if the field has no text.
func textAt(v cue.Value, name string) string {
	field := Field(v, name)
	if !field.Exists() {
		return ""
	}
	text, err := field.String()
	if err != nil {
		return ""
	}
	return text
}
