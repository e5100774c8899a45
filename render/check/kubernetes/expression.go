// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// scope says which variables a CEL expression may name, beside object, oldObject, request
// and namespaceObject.
type scope struct{ params, authorizer bool }

// expressions compiles CEL in the environments of the API server. The sources are the
// validation of admissionregistration and resource in k8s.io/kubernetes, and the packages
// k8s.io/apiserver/pkg/admission/plugin/cel and k8s.io/dynamic-resource-allocation/cel,
// which are not linked: the first costs 1.7 MB and 1.8 ms of every start. It is safe for
// concurrent use; the zero value is ready.
type expressions struct {
	envs    sync.Map // scope -> *environment.EnvSet
	devices sync.Once
	device  *cel.Env
}

// rule returns the check of the expressions of a component, or nil if it holds no expressions.
func (e *expressions) rule(component string) func(*finding.Value) {
	dot := strings.LastIndexByte(component, '.') + 1
	api, kind := component[:dot], component[dot:]
	switch {
	case strings.HasPrefix(api, "admissionregistration.") && strings.HasSuffix(kind, "AdmissionPolicySpec"):
		return e.checkPolicy
	case strings.HasPrefix(api, "admissionregistration.") && strings.HasSuffix(kind, "Webhook"):
		return func(a *finding.Value) { e.checkConditions(a, scope{authorizer: true}) }
	case strings.HasPrefix(api, "resource.") && kind == "CELDeviceSelector":
		return func(a *finding.Value) { compile(e.deviceEnv(), a.Field("expression"), "bool", "dyn") }
	}
	return nil
}

// checkConditions judges matchConditions, which see no variables.
func (e *expressions) checkConditions(a *finding.Value, names scope) {
	list := a.Field("matchConditions").Items()
	if len(list) == 0 {
		return
	}
	env := e.envSet(names).NewExpressionsEnv()
	for _, c := range list {
		compile(env, c.Field("expression"), "bool")
	}
}

// checkPolicy judges a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.
func (e *expressions) checkPolicy(a *finding.Value) {
	names := scope{params: a.Field("paramKind").Has(), authorizer: true}
	e.checkConditions(a, names)

	// Variables are fields of an object that grows while they are compiled.
	variables := apiservercel.NewObjectType("kubernetes.variables", map[string]*apiservercel.DeclField{})
	environmentOf := func(s scope) *environment.EnvSet {
		if a.Field("variables").Size() == 0 && a.Root().Kind() == "ValidatingAdmissionPolicy" {
			return e.envSet(s)
		}
		return extend(e.envSet(s), []*apiservercel.DeclType{variables}, cel.Variable("variables", variables.CelType()))
	}

	// Expressions may use the variables that are declared before them.
	set := environmentOf(names)
	env := set.NewExpressionsEnv()
	for _, v := range a.Field("variables").Items() {
		t := compile(env, v.Field("expression"))
		if name := v.Field("name").Text(); name != "" {
			variables.Fields[name] = apiservercel.NewDeclField(name, declared(t), true, nil, nil)
		}
	}

	// Messages see no authorizer, and patches know the types of objects.
	messages := sync.OnceValue(func() *cel.Env { return environmentOf(scope{params: names.params}).NewExpressionsEnv() })
	patches := sync.OnceValue(func() *cel.Env {
		types := common.ResolverEnvOption(&mutation.DynamicTypeResolver{})
		return extend(set, nil, types, environment.UnversionedLib(library.JSONPatch)).NewExpressionsEnv()
	})

	// Each kind of expression has an environment and a type of its own.
	for _, v := range a.Field("validations").Items() {
		compile(env, v.Field("expression"), "bool")
		if message := v.Field("messageExpression"); message.Has() {
			compile(messages(), message, "string")
		}
	}
	for _, v := range a.Field("auditAnnotations").Items() {
		compile(env, v.Field("valueExpression"), "string", "null_type")
	}
	for _, v := range a.Field("mutations").Items() {
		compile(patches(), v.In("applyConfiguration", "expression"), "Object")
		compile(patches(), v.In("jsonPatch", "expression"), "list(JSONPatch)")
	}
}

// compile reports what is wrong with an expression. The result must be of one of types, or of any
// type without types. It returns the type, or nil if the expression does not compile.
func compile(env *cel.Env, a *finding.Value, types ...string) *cel.Type {
	text := a.Text()
	if strings.TrimSpace(text) == "" || env == nil {
		return nil // The schema reports what is missing.
	}
	tree, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		first := issues.Errors()[0]
		message, _, _ := strings.Cut(first.Message, " expecting {")
		a.Fail(finding.RuleCEL, "is not a valid CEL expression: line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1,
			strings.TrimSuffix(message, " (in container '')"))
		return nil
	}
	got := tree.OutputType()
	if len(types) > 0 && !slices.Contains(types, got.String()) {
		a.Fail(finding.RuleCEL, "must be a CEL expression of type %s, found %s", strings.Join(types, " or "), got)
	}
	return got
}

// declared returns a type of CEL as the server declares a variable of it.
func declared(t *cel.Type) *apiservercel.DeclType {
	for _, declType := range []*apiservercel.DeclType{
		apiservercel.AnyType, apiservercel.BoolType, apiservercel.BytesType, apiservercel.DoubleType, apiservercel.DurationType,
		apiservercel.IntType, apiservercel.NullType, apiservercel.StringType, apiservercel.TimestampType, apiservercel.UintType,
	} {
		if t != nil && declType.CelType() == t {
			return declType
		}
	}
	return apiservercel.DynType
}

// envSet returns the environment of admission for a scope.
func (e *expressions) envSet(names scope) *environment.EnvSet {
	if set, ok := e.envs.Load(names); ok {
		return set.(*environment.EnvSet)
	}
	request, namespace := admissionRequest(), namespaceObject()
	vars := []cel.EnvOption{
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", request.CelType()), cel.Variable("namespaceObject", namespace.CelType()),
	}
	if names.params {
		vars = append(vars, cel.Variable("params", cel.DynType))
	}
	if names.authorizer {
		vars = append(vars,
			cel.Variable("authorizer", library.AuthorizerType),
			cel.Variable("authorizer.requestResource", library.ResourceCheckType))
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, _ := e.envs.LoadOrStore(names, extend(base, []*apiservercel.DeclType{request, namespace}, vars...))
	return set.(*environment.EnvSet)
}

// deviceEnv returns the environment of selectors of devices.
func (e *expressions) deviceEnv() *cel.Env {
	e.devices.Do(func() {
		perDomain := func(t *apiservercel.DeclType) *apiservercel.DeclType {
			return apiservercel.NewMapType(apiservercel.StringType, apiservercel.NewMapType(apiservercel.StringType, t, -1), -1)
		}
		device := objectType("DRADevice", map[string]*apiservercel.DeclType{
			"driver": apiservercel.StringType, "allowMultipleAllocations": apiservercel.BoolType,
			"attributes": perDomain(apiservercel.DynType), "capacity": perDomain(apiservercel.QuantityDeclType),
		})

		// The function includes is of the feature gate DRAListTypeAttributes.
		includes := cel.MemberOverload("dra_includes_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.BoolType)
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		set := extend(base, []*apiservercel.DeclType{device},
			cel.Variable("device", device.CelType()), ext.Bindings(ext.BindingsVersion(0)), cel.Function("includes", includes))
		e.device = set.NewExpressionsEnv()
	})
	return e.device
}

// extend adds declarations to an environment. The declarations are part of this package and
// constant: a test builds all of them.
func extend(set *environment.EnvSet, types []*apiservercel.DeclType, options ...cel.EnvOption) *environment.EnvSet {
	out, err := set.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: types})
	if err != nil {
		panic(fmt.Errorf("environment of CEL: %w", err))
	}
	return out
}

func objectType(name string, fields map[string]*apiservercel.DeclType) *apiservercel.DeclType {
	out := map[string]*apiservercel.DeclField{}
	for field, t := range fields {
		out[field] = apiservercel.NewDeclField(field, t, false, nil, nil)
	}
	return apiservercel.NewObjectType("kubernetes."+name, out)
}

// textFields returns the types of fields that hold text.
func textFields(names ...string) map[string]*apiservercel.DeclType {
	out := map[string]*apiservercel.DeclType{}
	for _, name := range names {
		out[name] = apiservercel.StringType
	}
	return out
}

// admissionRequest returns the type of the variable request.
func admissionRequest() *apiservercel.DeclType {
	texts := apiservercel.NewListType(apiservercel.StringType, -1)
	user := textFields("username", "uid")
	user["groups"], user["extra"] = texts, apiservercel.NewMapType(apiservercel.StringType, texts, -1)
	kind := objectType("GroupVersionKind", textFields("group", "version", "kind"))
	resource := objectType("GroupVersionResource", textFields("group", "version", "resource"))
	fields := textFields("subResource", "requestSubResource", "name", "namespace", "operation")
	fields["kind"], fields["requestKind"], fields["resource"], fields["requestResource"] = kind, kind, resource, resource
	fields["userInfo"] = objectType("UserInfo", user)
	fields["dryRun"], fields["options"] = apiservercel.BoolType, apiservercel.DynType
	return objectType("AdmissionRequest", fields)
}

// namespaceObject returns the type of the variable namespaceObject.
func namespaceObject() *apiservercel.DeclType {
	texts := apiservercel.NewListType(apiservercel.StringType, -1)
	condition := textFields("status", "type", "message", "reason")
	condition["lastTransitionTime"] = apiservercel.TimestampType
	status := textFields("phase")
	status["conditions"] = apiservercel.NewListType(objectType("NamespaceCondition", condition), -1)
	meta := textFields("name", "generateName", "namespace", "UID", "resourceVersion")
	meta["labels"] = apiservercel.NewMapType(apiservercel.StringType, apiservercel.StringType, -1)
	meta["annotations"] = meta["labels"]
	meta["creationTimestamp"], meta["deletionTimestamp"] = apiservercel.TimestampType, apiservercel.TimestampType
	meta["deletionGracePeriodSeconds"], meta["generation"] = apiservercel.IntType, apiservercel.IntType
	meta["finalizers"] = texts
	return objectType("Namespace", map[string]*apiservercel.DeclType{
		"metadata": objectType("NamespaceMetadata", meta), "status": objectType("NamespaceStatus", status),
		"spec": objectType("NamespaceSpec", map[string]*apiservercel.DeclType{"finalizers": texts}),
	})
}
