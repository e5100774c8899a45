// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

// The names of the rules, which findings carry for programs that read
// them. They do not change between releases.
const (
	RuleSchema       = "schema"       // the value has the wrong type
	RuleRequired     = "required"     // a member is missing
	RuleUnknownField = "unknownField" // a member has no meaning
	RuleFormat       = "format"       // a text is not written as it must be
	RuleEnum         = "enum"         // a value is not one of the known ones
	RuleRange        = "range"        // a number or length is out of bounds
	RuleUnique       = "unique"       // two items share what must differ
	RuleListType     = "listType"     // two items share the keys of a list
	RuleSelector     = "selector"     // a selector selects nothing or another thing
	RuleReference    = "reference"    // a name names nothing in the object
	RuleName         = "name"         // a name or label breaks the syntax
	RuleExclusive    = "exclusive"    // members exclude or demand one another
	RuleSize         = "size"         // a text or an object is too large
	RuleSecret       = "secret"       // a Secret holds data
	RuleEncrypted    = "encrypted"    // an encrypted object does not suit the engine
	RuleAPIVersion   = "apiVersion"   // no server serves the version
	RuleKind         = "kind"         // the kind is unknown
	RuleNamespace    = "namespace"    // the namespace does not suit the scope of the kind
	RuleServerSet    = "serverSet"    // a field is the server's to set
	RuleCEL          = "cel"          // a rule of a custom resource does not hold
	RuleHook         = "hook"         // a hook of Helm is here an ordinary object
	RuleDefinition   = "definition"   // a CustomResourceDefinition is not valid
)
