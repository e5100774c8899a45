// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// The tables that documents are held against. They are made when they are first needed: a
// project has thousands of documents, and each table hundreds of fields.
//
//nolint:gochecknoglobals // constants
var (
	transformTable = sync.OnceValue(func() document.Field { return whole(kinds.Transform().Root.Unread("spec", "component")) })
	projectTable   = sync.OnceValue(func() document.Field {
		table := kinds.Project().Root
		for _, at := range [][]string{{"spec"}, {"spec", "environments", "*"}} {
			table = table.Unread(append(at, "workloads", "defaults")...) // They are read by render/workload/score.
		}
		return whole(table)
	})
	workloadsTable = sync.OnceValue(func() document.Field { return kinds.Workloads().Unread("defaults") })
	componentTable = sync.OnceValue(func() document.Field { return header(kinds.OfSpec()...) })
	pivotTable     = sync.OnceValue(func() document.Field { return header(kinds.CueRef(clusterModule, "")) })
	gatewayTable   = sync.OnceValue(func() document.Field { return header(kinds.CueRef(moduleField, ""), kinds.DependsOn()) })
	builtTable     = sync.OnceValue(func() document.Field { return kinds.Built(false) })
	ownBuiltTable  = sync.OnceValue(func() document.Field { return kinds.Built(true) })
)

// whole is the table of a document whose apiVersion and kind were judged before.
func whole(table document.Field) document.Field {
	table.Fields = slices.Clone(table.Fields)
	for i, f := range table.Fields {
		if f.Name == "apiVersion" || f.Name == "kind" {
			table.Fields[i] = document.Field{Name: f.Name}
		}
	}
	return table
}

// header is what a document begins with, and those fields of its spec; others read the rest
// of that.
func header(spec ...document.Field) document.Field {
	return whole(kinds.Whole("", "", kinds.Metadata(), document.Field{Name: "spec", Kind: object.KindMap, Need: true, Open: true, Fields: spec}, kinds.Status()).Root)
}
