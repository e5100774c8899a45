// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// nodeDecoder reads the fields of one node strictly, whether or not its
// module imports the schema: a dependsOn with a typo must not be dropped.
type nodeDecoder struct {
	session *Session
	node    *object.Node
	path    object.Path
	errs    object.Errors
}

// decode reads one field other than object.
func (d *nodeDecoder) decode(name string, v cue.Value) error {
	data, err := v.MarshalJSON()
	if err == nil {
		d.readField(name, data, v)
	}
	return err
}

// readField reads one field other than object.
func (d *nodeDecoder) readField(name string, data []byte, v cue.Value) {
	value := Unmarshal(data)
	switch name {
	case "dependsOn":
		d.readDependencies(value, v)
	case "readyWhen":
		d.readReadyWhen(value, v)
	case "needs":
		d.readNeeds(value, v)
	case "apply":
		d.readApply(value, v)
	default:
		d.failUnknown(v, nil, name, diagnose.NodeFields())
	}
}

// finish checks the complete node.
func (d *nodeDecoder) finish(v cue.Value) {
	o := d.node.Object
	if o == nil {
		if len(d.errs) == 0 {
			d.fail(v, "object", "is missing: every node makes one object")
		}
		return
	}
	for _, field := range [...]struct {
		value any
		name  string
	}{{o["apiVersion"], "apiVersion"}, {o["kind"], "kind"}, {o.Get("metadata", "name"), "metadata.name"}} {
		if s, ok := field.value.(string); !ok || s == "" {
			d.fail(v.LookupPath(cue.ParsePath("object")), "object."+field.name, "must be text that is not empty")
			if field.name == "metadata.name" {
				d.errs[len(d.errs)-1].Hint = o.NameHint()
			}
		}
	}
}

// readDependencies reads the nodes and specs that the node depends on.
func (d *nodeDecoder) readDependencies(value any, v cue.Value) {
	list, ok := value.([]any)
	if !ok {
		d.fail(v, "dependsOn", "must be a list of node ids, got "+GotJSON(value))
		return
	}
	for i, e := range list {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		path := fmt.Sprintf("dependsOn[%d]", i)
		id, ok := e.(string)
		if !ok {
			d.fail(item, path, "must be a node id, got "+GotJSON(e))
			continue
		}

		// An id without a slash names a node of this spec.
		spec, node, full := strings.Cut(id, "/")
		if !full {
			spec = d.node.ID.Spec()
			node = id
		}
		if !validDependency(spec, node, full) {
			const expected = `must be a node of this spec ("node"), of another ("spec/node") or another spec ("spec/")`
			d.fail(item, path, fmt.Sprintf("%s, got %q", expected, id))
			continue
		}

		// The node of a resource has a longer name.
		need := object.MakeID(spec, node)
		if !full {
			need = d.session.NodeID(node)
		}
		pos := object.FirstValid(d.session.OwnPos(item), d.node.Pos)
		d.node.DependsOn = append(d.node.DependsOn, object.Dependency{ID: need, Pos: pos})
	}
}

// readReadyWhen reads the rules by which the object is ready.
func (d *nodeDecoder) readReadyWhen(value any, v cue.Value) {
	list, ok := value.([]any)
	if !ok {
		d.fail(v, "readyWhen", "must be a list of rules, got "+GotJSON(value))
		return
	}
	for i, e := range list {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		path := object.Path{object.Field("readyWhen"), object.Index(i)}
		rule, ok := e.(map[string]any)
		if !ok {
			d.fail(item, path.String(), "must be a rule, got "+GotJSON(e))
			continue
		}
		d.readRule(rule, item, path)
	}
}

// readNeeds reads what has to be in the cluster before the object.
func (d *nodeDecoder) readNeeds(value any, v cue.Value) {
	list, ok := value.([]any)
	if !ok || len(list) > object.MaxNeeds {
		got := GotJSON(value)
		if ok {
			got = fmt.Sprintf("%d", len(list))
		}
		d.fail(v, "needs", fmt.Sprintf("must be a list of at most %d objects, got %s", object.MaxNeeds, got))
		return
	}
	for i, e := range list {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		path := object.Path{object.Field("needs"), object.Index(i)}
		fields, ok := e.(map[string]any)
		if !ok {
			d.fail(item, path.String(), "must be an object such as {kind: \"Secret\", name: \"db\"}, got "+GotJSON(e))
			continue
		}
		n := object.Need{Pos: object.FirstValid(d.session.OwnPos(item), d.node.Pos)}
		d.readTexts(fields, map[string]*string{
			"apiVersion": &n.APIVersion, "kind": &n.Kind, "namespace": &n.Namespace, "name": &n.Name, "ready": &n.Ready,
		}, item, path)
		for _, needed := range [...]struct{ name, text string }{{"kind", n.Kind}, {"name", n.Name}} {
			if _, given := fields[needed.name]; needed.text == "" && (!given || fields[needed.name] == "") {
				d.fail(item, path.Append(object.Field(needed.name)).String(), "is missing: write the kind and the name of the object")
			}
		}
		d.node.Needs = append(d.node.Needs, n)
	}
}

// placeExpression sets the positions of a rule to the positions of its expression.
func (d *nodeDecoder) placeExpression(v cue.Value, r *object.Ready) {
	r.Pos = object.FirstValid(d.session.OwnPos(v), r.Pos)
	source := v.Source()
	if field, ok := source.(*ast.Field); ok {
		source = field.Value
	}
	if literal, ok := source.(*ast.BasicLit); ok && literal.Value == `"`+r.Expr+`"` {
		r.ExprPos = d.session.Module.Position(literal.Pos())
		r.ExprPos.Column++
	}
}

// readRule reads one rule by which the object is ready.
func (d *nodeDecoder) readRule(rule map[string]any, v cue.Value, path object.Path) {
	r := object.Ready{Pos: object.FirstValid(d.session.OwnPos(v), d.node.Pos)}
	before := len(d.errs)
	targets := map[string]*string{"type": &r.Type, "condition": &r.Condition, "status": &r.Status, "expr": &r.Expr, "timeout": &r.Timeout}
	d.readTexts(rule, targets, v, path)
	if len(d.errs) > before {
		return
	}

	// Each type has fields of its own.
	rulePath := path.String()
	switch r.Type {
	case object.ReadyExists, object.ReadyDeploymentAvailable:
	case object.ReadyConditionMatch:
		if r.Condition == "" {
			d.fail(v, rulePath+".condition", "is missing: ConditionMatch needs the name of a condition")
		}
		if r.Status == "" {
			r.Status = "True"
		}
		d.requireOneOf(v, rulePath+".status", r.Status, "True", "False", "Unknown")
	case object.ReadyCEL:
		d.placeExpression(v.LookupPath(cue.ParsePath("expr")), &r)
		if r.Expr == "" {
			d.fail(v, rulePath+".expr", "is missing: CEL needs an expression")
		}
	default:
		d.requireOneOf(v, rulePath+".type", r.Type, object.ReadyExists, object.ReadyConditionMatch, object.ReadyDeploymentAvailable, object.ReadyCEL)
	}

	// Each type may have a timeout.
	if _, ok := object.ParseTimeout(r.Timeout); rule["timeout"] != nil && !ok {
		d.fail(v.LookupPath(cue.ParsePath("timeout")), rulePath+".timeout", fmt.Sprintf("must be %s, got %q", object.TimeoutWords, r.Timeout))
	}

	// Fields of another type would mean nothing.
	if r.Type != object.ReadyConditionMatch && r.Condition+r.Status != "" {
		d.fail(v, rulePath, "condition and status are for type ConditionMatch only")
	}
	if r.Type != object.ReadyCEL && r.Expr != "" {
		d.fail(v, rulePath, "expr is for type CEL only")
	}
	d.node.ReadyWhen = append(d.node.ReadyWhen, r)
}

// readApply reads how the object is applied.
func (d *nodeDecoder) readApply(value any, v cue.Value) {
	rules, ok := value.(map[string]any)
	if !ok {
		d.fail(v, "apply", "must be a map of policies, got "+GotJSON(value))
		return
	}
	a := &d.node.Apply
	if prune, ok := rules["prune"]; ok {
		if b, ok := prune.(bool); ok {
			a.Prune = &b
		} else {
			d.fail(v.LookupPath(cue.ParsePath("prune")), "apply.prune", "must be true or false, got "+GotJSON(prune))
		}
	}
	path := object.Fields("apply")
	targets := map[string]*string{"mode": &a.Mode, "conflict": &a.Conflict, "adopt": &a.Adopt, "deletion": &a.Deletion, "prune": nil}
	d.readTexts(rules, targets, v, path)
	d.requireOneOf(v, "apply.mode", a.Mode, object.ModeApply, object.ModeCreate, object.ModeReplace, object.ModeForce)
	d.requireOneOf(v, "apply.conflict", a.Conflict, object.ConflictEngine, object.ConflictError)
	d.requireOneOf(v, "apply.adopt", a.Adopt, object.AdoptNever, object.AdoptTakeOwnership, object.AdoptMirror)
	d.requireOneOf(v, "apply.deletion", a.Deletion, object.DeletionDelete, object.DeletionOrphan)
}

// readTexts reads the text fields of m; a nil target is read elsewhere.
func (d *nodeDecoder) readTexts(m map[string]any, targets map[string]*string, v cue.Value, path object.Path) {
	for _, name := range object.SortedKeys(m) {
		fieldValue := v.LookupPath(cue.MakePath(cue.Str(name)))
		target, known := targets[name]
		if !known {
			d.failUnknown(fieldValue, path, name, object.SortedKeys(targets))
			continue
		}
		if target == nil {
			continue
		}
		text, ok := m[name].(string)
		if !ok {
			d.fail(fieldValue, path.Append(object.Field(name)).String(), "must be text, got "+GotJSON(m[name]))
			continue
		}
		*target = text
	}
}

// requireOneOf reports a value that is not in allowed. The fields of apply may be absent.
func (d *nodeDecoder) requireOneOf(v cue.Value, path, value string, allowed ...string) {
	if value == "" && strings.HasPrefix(path, "apply.") || slices.Contains(allowed, value) {
		return
	}
	d.fail(v, path, fmt.Sprintf("must be one of %s, got %q%s", diagnose.Quoted(allowed), value, diagnose.Nearest(value, allowed)))
}

func (d *nodeDecoder) failUnknown(v cue.Value, path object.Path, name string, knownFields []string) {
	d.fail(v, path.Append(object.Field(name)).String(), diagnose.UnknownField(name, knownFields))
}

// fail notes a mistake at path below the node.
func (d *nodeDecoder) fail(v cue.Value, path, message string) {
	d.errs = append(d.errs, &object.Error{
		Stage: object.StageEvaluate,
		Pos:   object.FirstValid(d.session.Module.Position(v.Pos()), d.node.Pos),
		Node:  d.node.ID,
		Path:  d.path.String() + "." + path,
		Err:   fmt.Errorf("%s", message),
	})
}

// GotJSON names a JSON value for a message.
func GotJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case nil:
		return "null"
	default:
		data, _ := json.Marshal(v)
		return string(data)
	}
}

// validDependency reports whether spec and node can name a node. If full is set, a slash was
// written and they may name a complete spec. The nodes of plain and Timoni modules are called after
// their objects and may have dots in their names.
func validDependency(spec, node string, full bool) bool {
	if spec == "" || (node == "" && !full) {
		return false
	}
	return !strings.ContainsAny(spec+node, "/ \t\r\n")
}
