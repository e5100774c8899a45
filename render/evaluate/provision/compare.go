// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/inputs"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Compare returns what changed for workloads between two modules of provisioners, which older and
// newer were read of: which resources they make, the params that those take, and their outputs.
// Paths begin with the entry, such as redis/default.port.
func Compare(older, newer *Provisioners, was, is *module.Session) ([]evaluate.Change, error) {
	// Both lists are read in one context of CUE.
	a, b, err := module.Together(was, is)
	if err != nil {
		return nil, err
	}
	olds, err := entriesIn(a, older)
	if err != nil {
		return nil, err
	}
	news, err := entriesIn(b, newer)
	if err != nil {
		return nil, err
	}
	var out []evaluate.Change
	taken := map[int]bool{}

	// Each old entry needs a new one that makes its resources.
	for _, o := range olds {
		i := slices.IndexFunc(news, func(n entry) bool { return n.makes(o.provisioner) })
		if i < 0 {
			out = append(out, inputs.ChangeAt(evaluate.LevelMajor, object.Fields(o.title()), o.Inputs, b, "nothing makes such a resource any more"))
			continue
		}
		taken[i] = true
		for _, n := range news[:i] {
			if n.meets(o.provisioner) {
				out = append(out, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(o.title()), o.Inputs, n.Inputs, n.title()+" makes some of these resources now"))
			}
		}
		out = append(out, o.changes(news[i])...)
		if !slices.ContainsFunc(olds, func(other entry) bool { return other.makes(news[i].provisioner) }) {
			out = append(out, inputs.ChangeAt(evaluate.LevelMinor, object.Fields(news[i].title()), o.Inputs, news[i].Inputs, "it makes resources that it did not make"))
		}
	}

	// The other new entries are additions.
	for i, n := range news {
		if !taken[i] {
			out = append(out, inputs.ChangeAt(evaluate.LevelMinor, object.Fields(n.title()), a, n.Inputs, "it is new"))
		}
	}
	inputs.Sort(out)
	return out, nil
}

// entry is a provisioner with its value in the context of a comparison.
type entry struct {
	provisioner
	module.Inputs
}

// entriesIn returns the entries of a package that p was read of.
func entriesIn(in module.Inputs, p *Provisioners) (out []entry, err error) {
	items, err := in.Value.LookupPath(cue.MakePath(cue.Def(listProvisioners))).List()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listProvisioners, err)
	}
	for i := 0; items.Next() && i < len(p.list); i++ {
		one := entry{provisioner: p.list[i], Inputs: in}
		one.Value = items.Value()
		out = append(out, one)
	}
	return out, nil
}

// changes returns the changes between two entries for the same resources.
func (e entry) changes(newer entry) []evaluate.Change {
	out := slices.Concat(e.paramChanges(newer), e.configChanges(newer), e.mountChanges(newer))

	// An output may be gone, become a secret, or cease to be one.
	secret := newer.names(diagnose.FieldSensitive)
	public := newer.names(diagnose.FieldOutputs)
	add := func(level evaluate.Level, name, text string) {
		out = append(out, inputs.ChangeAt(level, object.Fields(e.title(), "outputs", name), e.Inputs, newer.Inputs, text))
	}
	for _, name := range slices.Concat(e.names(diagnose.FieldOutputs), e.names(diagnose.FieldSensitive)) {
		wasSecret := slices.Contains(e.names(diagnose.FieldSensitive), name)
		switch {
		case slices.Contains(secret, name) && !wasSecret:
			add(evaluate.LevelUndecided, name, "the output is a secret now, which not every place takes")
		case slices.Contains(public, name) && wasSecret && !slices.Contains(secret, name):
			add(evaluate.LevelMinor, name, "the output is no secret any more")
		case !slices.Contains(secret, name) && !slices.Contains(public, name):
			add(evaluate.LevelMajor, name, "the output is gone")
		case e.gives(name) && !newer.gives(name):
			add(evaluate.LevelMajor, name, "the output may be absent now")
		}
	}

	// Other outputs are additions.
	for _, name := range slices.Concat(public, secret) {
		if !slices.Contains(e.names(diagnose.FieldOutputs), name) && !slices.Contains(e.names(diagnose.FieldSensitive), name) {
			add(evaluate.LevelMinor, name, "the output is new")
		}
	}

	// Conditions cannot be compared.
	if inputs.OtherConditions(e.Value, newer.Value, "claim", diagnose.FieldOutputs, diagnose.FieldSensitive, "volume") {
		out = append(out, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(e.title()), e.Inputs, newer.Inputs, "conditions of outputs or mounts changed (if, for), and which there are cannot be compared"))
	}
	for _, field := range []string{diagnose.FieldOutputs, diagnose.FieldSensitive} {
		if was, is := e.part(field), newer.part(field); inputs.OtherConditions(was.Value, is.Value) {
			out = append(out, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(e.title(), field), was, is, "conditions changed (if, for), and which outputs there are cannot be compared"))
		}
	}
	return out
}

// gives reports whether the entry has an output that is no optional field.
func (e entry) gives(name string) bool {
	return slices.ContainsFunc([]string{diagnose.FieldOutputs, diagnose.FieldSensitive}, func(field string) bool {
		return e.Value.LookupPath(cue.MakePath(cue.Str(field), cue.Str(name))).Exists()
	})
}

// mountChanges returns the changes of what a workload can mount.
func (e entry) mountChanges(newer entry) (out []evaluate.Change) {
	for _, field := range []string{"claim", "volume"} {
		was, is := e.part(field), newer.part(field)
		switch at := object.Fields(e.title(), field); {
		case was.Value.Exists() && !is.Value.Exists():
			out = append(out, inputs.ChangeAt(evaluate.LevelMajor, at, was, newer.Inputs, "the "+field+" that a workload mounts is gone"))
		case !was.Value.Exists() && is.Value.Exists():
			out = append(out, inputs.ChangeAt(evaluate.LevelMinor, at, e.Inputs, is, "a workload can mount the "+field+" now"))
		}
	}
	return out
}

// configChanges returns the changes of the part of the config of a project that the entry reads.
func (e entry) configChanges(newer entry) []evaluate.Change {
	at := object.Fields(e.title(), diagnose.FieldConfig)
	was, is := e.part(diagnose.FieldConfig), newer.part(diagnose.FieldConfig)
	declared, declares := was.Value.Exists() && !readsAll(was.Value), is.Value.Exists() && !readsAll(is.Value)
	switch {
	case !declared && !declares:
		return nil
	case !declares:
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, at, was, newer.Inputs, "it declares no config any more")}
	case was.Value.Exists() && !declared:
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, at, was, is, "it read whatever config there is, and declares what it takes now")}
	}
	out := inputs.ComparePart(was, is, at)
	if !was.Value.Exists() && !is.Value.Allows(cue.AnyString) {
		out = append(out, inputs.ChangeAt(evaluate.LevelUndecided, at, e.Inputs, is, "it read no config, and takes that alone that it declares now"))
	}
	return out
}

// part returns a field of the entry, which need not exist.
func (e entry) part(field string) module.Inputs {
	out := e.Inputs
	out.Value = e.Value.LookupPath(cue.MakePath(cue.Str(field)))
	return out
}

// paramChanges returns the changes of the params. An entry may declare them, read whatever there
// is, or take none.
func (e entry) paramChanges(newer entry) []evaluate.Change {
	at := object.Fields(e.title())
	was, is := e.declared(), newer.declared()
	switch {
	case e.params && !newer.params:
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelMajor, at, was, newer.Inputs, "it takes no params any more")}
	case readsAll(was.Value) && !readsAll(is.Value):
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, at, was, is, "it read whatever params there are, and takes those alone that it declares now")}
	}
	return inputs.ComparePart(was, is, at)
}

// readsAll reports whether params are a map that declares nothing and takes any.
func readsAll(params cue.Value) bool {
	if params.IncompleteKind() != cue.StructKind || !params.Allows(cue.AnyString) {
		return false
	}
	fields, err := params.Fields(cue.Optional(true))
	return err == nil && !fields.Next()
}

// declared returns the params that the entry declares.
func (e entry) declared() module.Inputs {
	out := e.part(diagnose.FieldParams)
	if !e.params {
		out.Value = cue.Value{}
	}
	return out
}

// makes reports whether p makes every resource that o makes.
func (p *provisioner) makes(o provisioner) bool {
	return p.Type == o.Type && (p.Class == "" || p.Class == o.Class) && (p.ID == "" || p.ID == o.ID)
}

// meets reports whether p makes some of the resources that o makes.
func (p *provisioner) meets(o provisioner) bool {
	return p.Type == o.Type && (p.Class == "" || o.Class == "" || p.Class == o.Class) && (p.ID == "" || o.ID == "" || p.ID == o.ID)
}
