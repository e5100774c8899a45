// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// rewriter replaces namespaces and names in objects.
type rewriter struct {
	rules *Rules
	// namespaces has each namespace of the render with its namespace of the preview.
	namespaces map[string]string
	// names has each served host, and each service by NAME.NAMESPACE, with its name in the preview.
	names map[string]string
	// refs is set where texts refer to objects as NAMESPACE/NAME.
	refs bool
}

// findNamespaces finds the namespaces of the render.
func (w *rewriter) findNamespaces(nodes []*object.Node) (errs object.Errors) {
	w.namespaces = map[string]string{}
	names := slices.Clone(w.rules.From)
	for _, n := range nodes {
		names = append(names, n.Object.Namespace())
		if isNamespace(n.Object) {
			names = append(names, n.Object.Name())
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" || w.rules.own(name) || strings.HasPrefix(name, "kube-") {
			continue
		}
		to, err := w.rules.namespace(name)
		if err != nil {
			errs = append(errs, one(err))
			continue
		}
		w.namespaces[name] = to
	}
	return append(errs, w.rules.ambiguous("namespace", w.rules.Namespace, namespacePlace, object.SortedKeys(w.namespaces))...)
}

// findServices finds the services of the render by the names that other pods call them by.
func (w *rewriter) findServices(nodes []*object.Node) {
	w.names = map[string]string{}
	before := map[string][]string{} // The namespaces that a namespace of the preview stands for; it may be the same already.
	for namespace, to := range w.namespaces {
		before[namespace] = append(before[namespace], namespace)
		before[to] = append(before[to], namespace)
	}
	for _, n := range nodes {
		if o := n.Object; o.Kind() == "Service" {
			for _, namespace := range before[o.Namespace()] {
				w.names[o.Name()+"."+namespace] = o.Name() + "." + w.namespaces[namespace]
			}
		}
	}
}

// rewrite rewrites an object in place. It warns of what it leaves in the data of a Secret.
func (w *rewriter) rewrite(id object.ID, o object.Object) (errs object.Errors) {
	w.refs = strings.HasSuffix(o.Group(), ".istio.io")
	if to := w.namespaces[o.Name()]; isNamespace(o) && to != "" {
		o.Map("metadata")["name"] = to
	}
	isSecret := o.Kind() == "Secret" && o.Group() == ""
	for _, key := range object.SortedKeys(o) {
		if isSecret && (key == "data" || key == "stringData") {
			errs = append(errs, w.warn(id, key, o.Map(key))...)
			continue
		}
		o[key] = w.rewriteValue(key, o[key])
	}
	return errs
}

// warn warns of the values of a Secret that name what another preview has too.
func (w *rewriter) warn(id object.ID, field string, values map[string]any) (errs object.Errors) {
	for _, key := range object.SortedKeys(values) {
		text, _ := values[key].(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
			text = string(decoded)
		}
		if w.rewriteText(text) == text {
			continue
		}
		e := fail(id, object.Fields(field, key), "give it another value in previews, such as one from a store of secrets",
			"a value of a Secret is never changed, and this one names a host or a namespace that is not that of the preview")
		e.Severity = object.SeverityWarning
		e.Secret = true
		errs = append(errs, e)
	}
	return errs
}

// rewriteValue rewrites the value of a field. The items of a list are values of its field too.
func (w *rewriter) rewriteValue(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		w.rewriteFields(field, v)
	case []any:
		for i, item := range v {
			v[i] = w.rewriteValue(field, item)
		}
	case string:
		if to, ok := w.namespaces[v]; ok && ofNamespaces(field) {
			return to
		}
		switch field {
		case "apiVersion", "apiGroup", "apiGroups", "group", "kind", "image":
			return v
		}
		if namespace, rest, ok := strings.Cut(v, "/"); ok && w.refs && w.namespaces[namespace] != "" {
			return w.namespaces[namespace] + "/" + w.rewriteText(rest)
		}
		return w.rewriteText(v)
	}
	return v
}

// rewriteFields rewrites the fields of a map.
func (w *rewriter) rewriteFields(field string, m map[string]any) {
	refs := w.refs
	w.refs = refs || field == "annotations"
	for _, name := range object.SortedKeys(m) {
		as := name
		key, _ := m["key"].(string)
		variable, _ := m["name"].(string)
		switch {
		case name == "values" && ofNamespaces(key): // An expression of a selector.
			as = key
		case name == "value" && strings.HasSuffix(strings.ToUpper(variable), "NAMESPACE"):
			as = "namespace"
		}
		m[name] = w.rewriteValue(as, m[name])
	}
	w.refs = refs
}

// ofNamespaces reports whether a field, or a label, has names of namespaces.
func ofNamespaces(field string) bool {
	switch field {
	case "namespace", "namespaces", "matchNames":
		return true
	}
	for _, end := range []string{"Namespace", "Namespaces", "kubernetes.io/metadata.name", "io.kubernetes.pod.namespace"} {
		if strings.HasSuffix(field, end) {
			return true
		}
	}
	return false
}

var (
	// inNamespace matches the places of namespaces in a text: the DNS name of a service, the
	// identity of an account, an argument.
	inNamespace = regexp.MustCompile(`(^|[^A-Za-z0-9-])(kubernetes\.default\.svc\b)|(\.)([a-z0-9-]+)(\.svc\b)|(/ns/)([a-z0-9-]+)(/sa/)|(--(?:[a-z-]+-)?namespace=)([a-z0-9-]+)`)
	// hostName matches the longest name, or an escape that ends a name.
	hostName = regexp.MustCompile(`%[0-9A-Fa-f]{2}|\\[nrt]|(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]*`)
)

// rewriteText rewrites the namespaces and the hosts in a text.
func (w *rewriter) rewriteText(s string) string {
	// Without these signs there is neither a namespace nor a host in it.
	if !strings.ContainsAny(s, "./=") {
		return s
	}

	// A namespace is rewritten where its place in the text tells that it is a namespace.
	s = inNamespace.ReplaceAllStringFunc(s, func(found string) string {
		m := inNamespace.FindStringSubmatch(found)
		for _, part := range [][3]int{{3, 4, 5}, {6, 7, 8}, {9, 10, 0}} {
			namespace, ok := w.namespaces[m[part[1]]]
			if !ok {
				continue
			}
			end := ""
			if part[2] > 0 {
				end = m[part[2]]
			}
			return m[part[0]] + namespace + end
		}
		return found
	})

	// A host is rewritten unless it is the end of a longer name.
	var b strings.Builder
	last := 0
	for _, bounds := range hostName.FindAllStringIndex(s, -1) {
		name := strings.TrimRight(s[bounds[0]:bounds[1]], ".")
		namespace, ok := w.names[strings.ToLower(name)]
		if !ok || continues(s[:bounds[0]]) {
			continue
		}
		b.WriteString(s[last:bounds[0]] + namespace)
		last = bounds[0] + len(name)
	}
	return b.String() + s[last:]
}

// continues reports whether a name is the end of a longer name, which a placeholder begins, or the
// domain of an address of mail.
func continues(before string) bool {
	const near = 256 // An address of mail is no longer, and a text may be.
	before = before[max(0, len(before)-near):]
	if rest := strings.TrimRight(before, ".-"); rest != before {
		return rest != "" && strings.ContainsAny(rest[len(rest)-1:], "})]>*")
	}
	word := before[strings.LastIndexAny(before, " \t\n\"'<>,;(")+1:]
	return strings.HasSuffix(word, "@") && !strings.Contains(word, "://")
}
