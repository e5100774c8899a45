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
// newer were read of: the resources that they make, the params of these, and their outputs.
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
	var changes []evaluate.Change
	matched := map[int]bool{}

	// Each old entry needs a new one that makes its resources.
	for _, o := range olds {
		i := slices.IndexFunc(news, func(n entry) bool { return n.makes(o.provisioner) })
		if i < 0 {
			changes = append(changes, inputs.ChangeAt(evaluate.LevelMajor, object.Fields(o.title()), o.Inputs, b, "nothing makes such a resource any more"))
			continue
		}
		matched[i] = true
		for _, n := range news[:i] {
			if n.meets(o.provisioner) {
				text := n.title() + " makes some of these resources now"
				changes = append(changes, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(o.title()), o.Inputs, n.Inputs, text))
			}
		}
		changes = append(changes, o.changes(news[i])...)
		if !slices.ContainsFunc(olds, func(other entry) bool { return other.makes(news[i].provisioner) }) {
			path, text := object.Fields(news[i].title()), "it makes resources that it did not make"
			changes = append(changes, inputs.ChangeAt(evaluate.LevelMinor, path, o.Inputs, news[i].Inputs, text))
		}
	}

	// The other new entries are additions.
	for i, n := range news {
		if !matched[i] {
			changes = append(changes, inputs.ChangeAt(evaluate.LevelMinor, object.Fields(n.title()), a, n.Inputs, "it is new"))
		}
	}
	inputs.Sort(changes)
	return changes, nil
}

// entry is a provisioner with its value in the context of a comparison.
type entry struct {
	provisioner
	module.Inputs
}

// entriesIn returns the entries of a package that p was read of.
func entriesIn(packageInputs module.Inputs, p *Provisioners) (entries []entry, err error) {
	items, err := packageInputs.Value.LookupPath(cue.MakePath(cue.Def(listProvisioners))).List()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listProvisioners, err)
	}
	for i := 0; items.Next() && i < len(p.list); i++ {
		item := entry{provisioner: p.list[i], Inputs: packageInputs}
		item.Value = items.Value()
		entries = append(entries, item)
	}
	return entries, nil
}

// changes returns the changes between two entries for the same resources.
func (e entry) changes(newer entry) []evaluate.Change {
	changes := slices.Concat(e.paramChanges(newer), e.configChanges(newer), e.mountChanges(newer))

	// An output may be gone, become a secret, or cease to be secret.
	secret := newer.names(diagnose.FieldSensitive)
	public := newer.names(diagnose.FieldOutputs)
	add := func(level evaluate.Level, name, text string) {
		changes = append(changes, inputs.ChangeAt(level, object.Fields(e.title(), "outputs", name), e.Inputs, newer.Inputs, text))
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
		const text = "conditions of outputs or mounts changed (if, for), and which there are cannot be compared"
		changes = append(changes, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(e.title()), e.Inputs, newer.Inputs, text))
	}
	for _, field := range []string{diagnose.FieldOutputs, diagnose.FieldSensitive} {
		if was, is := e.part(field), newer.part(field); inputs.OtherConditions(was.Value, is.Value) {
			const text = "conditions changed (if, for), and which outputs there are cannot be compared"
			changes = append(changes, inputs.ChangeAt(evaluate.LevelUndecided, object.Fields(e.title(), field), was, is, text))
		}
	}
	return changes
}

// gives reports whether the entry has an output that is no optional field.
func (e entry) gives(name string) bool {
	return slices.ContainsFunc([]string{diagnose.FieldOutputs, diagnose.FieldSensitive}, func(field string) bool {
		return e.Value.LookupPath(cue.MakePath(cue.Str(field), cue.Str(name))).Exists()
	})
}

// mountChanges returns the changes of what a workload can mount.
func (e entry) mountChanges(newer entry) (changes []evaluate.Change) {
	for _, field := range []string{"claim", "volume"} {
		was, is := e.part(field), newer.part(field)
		switch path := object.Fields(e.title(), field); {
		case was.Value.Exists() && !is.Value.Exists():
			changes = append(changes, inputs.ChangeAt(evaluate.LevelMajor, path, was, newer.Inputs, "the "+field+" that a workload mounts is gone"))
		case !was.Value.Exists() && is.Value.Exists():
			changes = append(changes, inputs.ChangeAt(evaluate.LevelMinor, path, e.Inputs, is, "a workload can mount the "+field+" now"))
		}
	}
	return changes
}

// configChanges returns the changes of the part of the config of a project that the entry reads.
func (e entry) configChanges(newer entry) []evaluate.Change {
	path := object.Fields(e.title(), diagnose.FieldConfig)
	was, is := e.part(diagnose.FieldConfig), newer.part(diagnose.FieldConfig)
	wasDeclared, isDeclared := was.Value.Exists() && !readsAll(was.Value), is.Value.Exists() && !readsAll(is.Value)
	switch {
	case !wasDeclared && !isDeclared:
		return nil
	case !isDeclared:
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, path, was, newer.Inputs, "it declares no config any more")}
	case was.Value.Exists() && !wasDeclared:
		const text = "it read whatever config there is, and declares what it takes now"
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, path, was, is, text)}
	}
	changes := inputs.ComparePart(was, is, path)
	if !was.Value.Exists() && !is.Value.Allows(cue.AnyString) {
		const text = "it read no config, and takes that alone that it declares now"
		changes = append(changes, inputs.ChangeAt(evaluate.LevelUndecided, path, e.Inputs, is, text))
	}
	return changes
}

// part returns a field of the entry, which need not exist.
func (e entry) part(field string) module.Inputs {
	out := e.Inputs
	out.Value = e.Value.LookupPath(cue.MakePath(cue.Str(field)))
	return out
}

// paramChanges returns the changes of the params. An entry may declare its params, read every param,
// or take no params.
func (e entry) paramChanges(newer entry) []evaluate.Change {
	path := object.Fields(e.title())
	was, is := e.declared(), newer.declared()
	switch {
	case e.params && !newer.params:
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelMajor, path, was, newer.Inputs, "it takes no params any more")}
	case readsAll(was.Value) && !readsAll(is.Value):
		const text = "it read whatever params there are, and takes those alone that it declares now"
		return []evaluate.Change{inputs.ChangeAt(evaluate.LevelUndecided, path, was, is, text)}
	}
	return inputs.ComparePart(was, is, path)
}

// readsAll reports whether params are a map that declares nothing and takes every field.
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
	sameClass := p.Class == "" || p.Class == o.Class
	sameID := p.ID == "" || p.ID == o.ID
	return p.Type == o.Type && sameClass && sameID
}

// meets reports whether p makes some of the resources that o makes.
func (p *provisioner) meets(o provisioner) bool {
	sharesClass := p.Class == "" || o.Class == "" || p.Class == o.Class
	sharesID := p.ID == "" || o.ID == "" || p.ID == o.ID
	return p.Type == o.Type && sharesClass && sharesID
}
