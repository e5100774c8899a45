// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

// The names of the rules, which findings carry for those who read them as
// data. They do not change between releases.
const (
	RuleSchema       = "schema"       // the value has the wrong type
	RuleRequired     = "required"     // a member is missing
	RuleUnknownField = "unknownField" // a member has no meaning
	RuleFormat       = "format"       // a text is not written as it must be
	RuleEnum         = "enum"         // a value is none of the known ones
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
	RuleKind         = "kind"         // nobody knows the kind
	RuleNamespace    = "namespace"    // the scope of the kind says otherwise
	RuleCEL          = "cel"          // a rule of a custom resource does not hold
	RuleDefinition   = "definition"   // a CustomResourceDefinition is no good
)

// ruleFor is the rule for what the schema of a component cannot say, nil where
// there is none. Rules run wherever the component stands: that of a container
// holds in a Pod and in the template of a Job.
func ruleFor(component string) func(*at) {
	for _, rules := range [...]func(string) func(*at){
		podRules, containerRules, volumeRules, workloadRules, serviceRules,
		networkRules, policyRules, accessRules, storageRules, configRules, admissionRules,
	} {
		if rule := rules(component); rule != nil {
			return rule
		}
	}
	return nil
}
