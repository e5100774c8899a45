// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Gateway is a decoded document.
type Gateway struct {
	Name    string
	Context object.Context
	Pos     object.Pos
	// Partial is set if a mistake in the document, which is reported already, may hide part
	// of it: it is searched for more mistakes, and has no input.
	Partial bool

	target  string
	spec    object.Value
	can     Set
	routes  []*route
	secrets []secret
}

// route is a route of a Gateway, with the defaults of the Gateway in it.
type route struct {
	object.Value
	location object.Path
	hosts    []string
	path     string
	exact    bool
	// settings are the settings in effect, in the order of the table.
	settings []object.Member
	// end is the end of the names of its objects.
	end string
	// namespace and port belong to the workload; the port is 0 without a workload.
	namespace string
	port      score.Port
	// login is the oauth2-proxy that the route needs, or, for its entrance, leads to.
	login    Login
	entrance bool
}

// secret is a Secret that a Gateway names.
type secret struct {
	kind     Secret
	name     string
	pos      object.Pos
	location object.Path
}

// decoder checks a document against the table.
type decoder struct {
	document.Decoder
	target string
	// can holds the targets that support the complete document.
	can Set
	// names are the names of the settings.
	names []string
}

// checkTarget reports whether the target is in support. If it is not, it reports a mistake: the
// target has no such feature.
func (d *decoder) checkTarget(support Set, feature string, pos object.Pos, path object.Path) bool {
	if support == 0 || d.target == "" || Has(support, d.target) {
		return true
	}
	d.Fail(pos, path, "remove it"+instead(support, d.can), "the target %s has no %s", d.target, feature)
	return false
}

// Decode checks the spec of a Gateway against the table, and fills the defaults into its routes.
// The errors are of the stage spec, in no particular order. The Gateway holds the valid
// parts of the document.
func Decode(name string, pos object.Pos, c object.Context, spec object.Value) (*Gateway, object.Errors) {
	g := &Gateway{Name: name, Context: c, Pos: pos, spec: object.Value{Kind: object.KindMap, Pos: pos}}
	path := object.Fields("spec")
	d := &decoder{}
	d.Able = d.checkTarget
	for _, s := range settings() {
		d.names = append(d.names, s.Name)
	}
	if target := field(spec, "target").Text; slices.Contains(Targets(), target) {
		d.target = target
		g.target = target
	}

	// Find the targets that support the document: hints name them.
	root := Field{Kind: object.KindMap, Fields: Fields()}
	d.can = can(root, spec)
	g.can = d.can
	if valid, ok := d.Decode(root, spec, path); ok {
		g.spec = valid
	}

	// Check the rules beside the table: fields that depend on each other or on the target.
	d.checkEntry(g)
	g.secrets = append(g.secrets, d.checkSettings(g.spec, path)...)
	for i, v := range field(g.spec, "routes").Items {
		r := &route{Value: v, location: path.Append(object.Field("routes"), object.Index(i))}
		d.fillRoute(g, r)
		g.secrets = append(g.secrets, d.checkSettings(v, r.location)...)
		g.routes = append(g.routes, r)
	}
	setEnds(g.routes)
	g.Partial = d.Errs.Err() != nil
	return g, d.Errs
}

// field returns the field that names lead to, or a value of KindNone if it is not given.
func field(v object.Value, names ...string) object.Value {
	for _, name := range names {
		v, _ = v.Get(name)
	}
	return v
}

// present returns the names that v has as fields.
func present(v object.Value, names ...string) []string {
	isMissing := func(name string) bool { return field(v, name).Kind == object.KindNone }
	return slices.DeleteFunc(slices.Clone(names), isMissing)
}

// checkEntry checks the fields that receive requests: class, gateway and tls.
func (d *decoder) checkEntry(g *Gateway) {
	path := object.Fields("spec")
	class := field(g.spec, "class")
	existing := field(g.spec, "gateway")
	tls := field(g.spec, "tls")
	switch {
	case existing.Kind != object.KindNone && class.Kind != object.KindNone:
		d.Fail(class.Pos, path.Append(object.Field("class")), "remove it", "the Gateway %q has its class already", field(existing, "name").Text)
	case d.target == GatewayAPI && existing.Kind == object.KindNone && class.Kind == object.KindNone:
		hint := "write the name of a GatewayClass of the cluster, or name a Gateway under gateway"
		d.Fail(g.Pos, path.Append(object.Field("class")), hint, "is missing")
	}

	// Certificates belong to the listeners, which a Gateway that exists already has.
	if tls.Kind == object.KindNone {
		return
	}
	tlsPath := path.Append(object.Field("tls"))
	switch n := len(present(tls, "secret", "issuer")); {
	case existing.Kind != object.KindNone:
		d.Fail(tls.Pos, tlsPath, "remove it", "the listeners of the Gateway %q have the certificates", field(existing, "name").Text)
	case n != 1:
		d.Fail(tls.Pos, tlsPath, "", "expected one of secret and issuer, got %d", n)
	case len(g.hosts()) == 0 && field(tls, "issuer").Kind != object.KindNone:
		d.Fail(tls.Pos, tlsPath, "write hosts", "a certificate needs the hosts that it is for")
	}
	if s := field(tls, "secret"); s.Kind != object.KindNone {
		g.secrets = append(g.secrets, secret{SecretTLS, s.Text, s.Pos, tlsPath.Append(object.Field("secret"))})
	}
}

// hosts returns the hosts of all routes, each once.
func (g *Gateway) hosts() []object.Value {
	lists := []object.Value{field(g.spec, "hosts")}
	for _, r := range field(g.spec, "routes").Items {
		lists = append(lists, field(r, "hosts"))
	}
	var out []object.Value
	for _, l := range lists {
		for _, h := range l.Items {
			if h.Kind != object.KindNone && !slices.ContainsFunc(out, func(o object.Value) bool { return o.Text == h.Text }) {
				out = append(out, h)
			}
		}
	}
	return out
}

// fillRoute checks one route, and fills the defaults of the Gateway into it.
func (d *decoder) fillRoute(g *Gateway, r *route) {
	r.path = field(r.Value, "path").Text
	r.exact = field(r.Value, "pathType").Text == "Exact"
	if !r.exact && r.path != "/" {
		r.path = strings.TrimSuffix(r.path, "/")
	}

	// A route inherits hosts and settings of the Gateway. A setting that is off stays off.
	hosts := field(r.Value, "hosts")
	if hosts.Kind == object.KindNone {
		hosts = field(g.spec, "hosts")
	}
	for _, h := range hosts.Items {
		if h.Kind != object.KindNone {
			r.hosts = append(r.hosts, h.Text)
		}
	}
	for _, name := range d.names {
		v := field(r.Value, name)
		if v.Kind == object.KindNone {
			v = field(g.spec, name)
		}
		if v.Kind != object.KindNone && v.Kind != object.KindBool {
			r.settings = append(r.settings, member(name, v))
		}
	}

	// A route needs a workload or a redirect. An Ingress needs a workload for a redirect too.
	redirect := field(r.Value, "redirect")
	rewrite := field(r.Value, "rewrite")
	fieldPath := func(name string) object.Path { return r.location.Append(object.Field(name)) }
	switch to := field(r.Value, "to"); {
	case to.Kind != object.KindNone || len(r.Members) == 0:
	case redirect.Kind == object.KindNone:
		d.Fail(r.Pos, fieldPath("to"), "write to: {workload: …}, or a redirect", "is missing")
	case Has(ingresses, d.target):
		hint := "write the workload that the host belongs to, which receives no request" + instead(all&^ingresses, d.can)
		d.Fail(r.Pos, fieldPath("to"), hint, "an Ingress with a redirect needs a workload")
	}
	d.checkRedirect(redirect, fieldPath("redirect"))
	d.checkCallback(r)
	d.checkPreflight(r)

	// A rewrite needs a workload, and one new path.
	if rewrite.Kind == object.KindNone {
		return
	}
	switch n := len(present(rewrite, "path", "prefix")); {
	case redirect.Kind != object.KindNone:
		d.Fail(rewrite.Pos, fieldPath("rewrite"), "remove it", "a redirect has no path to rewrite")
	case n > 1:
		d.Fail(rewrite.Pos, fieldPath("rewrite"), "remove one of them", "expected one of path and prefix, got both")
	case r.exact && field(rewrite, "prefix").Kind != object.KindNone:
		d.Fail(rewrite.Pos, fieldPath("rewrite"), "write path in place of prefix", "an exact path has no prefix")
	}
}

// checkCallback checks that a login of Envoy Gateway ends at an address that the route receives.
// Otherwise no client would ever get a session.
func (d *decoder) checkCallback(r *route) {
	auth := r.setting("auth")
	if d.target != EnvoyGateway || field(auth, "type").Text != "oauth2" || r.path == "" {
		return
	}
	end := "/oauth2/callback"
	pos := auth.Pos
	if v := field(auth, "redirectURL"); v.Kind != object.KindNone {
		u, err := url.Parse(v.Text)
		if err != nil { // The mistake is reported.
			return
		}
		end = u.Path
		pos = v.Pos
	}
	if end != r.path && (r.exact || !strings.HasPrefix(end, strings.TrimSuffix(r.path, "/")+"/")) {
		hint := "write redirectURL: https://HOST" + strings.TrimSuffix(r.path, "/") + "/oauth2/callback"
		d.Fail(pos, r.location.Append(object.Fields("auth", "redirectURL")...), hint,
			"a login ends at %s, which the route for %s does not receive", end, r.path)
	}
}

// checkPreflight warns of authentication that comes before CORS: browsers send the OPTIONS request
// of CORS without credentials.
func (d *decoder) checkPreflight(r *route) {
	cors := r.setting("cors")
	reported := slices.ContainsFunc(d.Errs, func(e *object.Error) bool { return e.Pos == cors.Pos })
	guarded := cors.Kind != object.KindNone && r.setting("auth").Kind != object.KindNone
	if d.target != Haproxytech || !guarded || reported {
		return
	}
	d.Fail(cors.Pos, r.location.Append(object.Field("cors")), "remove auth or cors"+instead(jc|tr|eg, d.can),
		"the target %s asks for auth before it answers the OPTIONS requests of browsers, which get 401", d.target)
	if last := d.Errs[len(d.Errs)-1]; last.Pos == cors.Pos {
		last.Severity = object.SeverityWarning
	}
}

// checkRedirect checks that the target supports the parts of a redirect together.
func (d *decoder) checkRedirect(v object.Value, path object.Path) {
	parts := present(v, "scheme", "host", "path")
	switch {
	case v.Kind == object.KindNone:
	case len(parts) == 0:
		d.Fail(v.Pos, path, "", "expected at least one of scheme, host and path")
	case d.target == Jcmoraisjr && len(parts) < 3:
		d.Fail(v.Pos, path, "write all three"+instead(all&^jc, d.can),
			"the target %s redirects to a complete address: scheme, host and path", d.target)
	}
}

// checkSettings checks the settings of a route, or the defaults of the Gateway, and returns the
// Secrets that they name.
func (d *decoder) checkSettings(v object.Value, path object.Path) []secret {
	fieldPath := func(names ...string) object.Path { return path.Append(object.Fields(names...)...) }
	limit := field(v, "rateLimit")
	anyClient := limit.Kind == object.KindMap && field(limit, "by").Kind == object.KindNone
	if d.target == EnvoyGateway && anyClient {
		d.Fail(limit.Pos, fieldPath("rateLimit", "by"), "write by: all"+instead(ingresses|tr, d.can),
			"the target %s counts no single clients, which is the default", d.target)
	}

	// Browsers refuse some combinations of "*".
	cors := field(v, "cors")
	for _, name := range []string{"allowOrigins", "allowMethods", "allowHeaders"} {
		l := field(cors, name)
		switch i := slices.IndexFunc(l.Items, func(o object.Value) bool { return o.Text == "*" }); {
		case i < 0:
		case len(l.Items) > 1:
			d.Fail(l.Items[i].Pos, fieldPath("cors", name), "remove it, or the others", "\"*\" must be the only item")
		case field(cors, "allowCredentials").Text == "true":
			d.Fail(l.Items[i].Pos, fieldPath("cors", name), "list what is allowed, or remove allowCredentials",
				"browsers refuse \"*\" together with allowCredentials")
		}
	}

	// The fields of auth depend on its type.
	auth := field(v, "auth")
	if auth.Kind != object.KindMap {
		return nil
	}
	return d.checkAuth(auth, fieldPath("auth"))
}

// checkAuth checks that the fields fit the type, and returns the Secret that they name.
func (d *decoder) checkAuth(v object.Value, path object.Path) []secret {
	kind := field(v, "type").Text

	// Each type needs some fields and may have others.
	oauth2 := []string{"issuer", "clientID", "secret"}
	optional := []string{"scopes"}
	key := []string{"proxy", "header"}
	proxy := field(v, "proxy")
	hint := ""
	ownProxy := len(present(v, "proxy", "signin")) > 0 || d.Known(path.Append(object.Field("proxy")))
	switch {
	case d.target == EnvoyGateway:
		optional = append(optional, "redirectURL")
		key = []string{"secret", "header"}
	case kind != string(SecretOAuth2):
	case proxy.Kind != object.KindNone && len(present(v, oauth2...)) > 0:
		others := strings.Join(present(v, "issuer", "clientID", "secret", "scopes"), ", ")
		d.Fail(proxy.Pos, path.Append(object.Field("proxy")), "remove proxy, for an oauth2-proxy that is made, or remove "+others,
			"expected an oauth2-proxy of yours or the issuer for one that is made, got both")
		return nil
	case ownProxy:
		oauth2 = []string{"proxy"}
		optional = []string{"signin"}
	default:
		hint = ", or proxy, the address of an oauth2-proxy of yours"
	}
	required := map[string][]string{
		"basic": {"secret"}, "api-key": key, "oauth2": oauth2, "jwt": {"issuer", "jwks"},
	}[kind]
	allowed := map[string][]string{"basic": {"realm"}, "oauth2": optional, "jwt": {"audiences"}}[kind]
	if required == nil {
		return nil
	}

	// Report fields that the type does not have, and then missing fields.
	for _, m := range v.Members {
		if m.Name != "type" && !slices.Contains(slices.Concat(required, allowed), m.Name) {
			d.Fail(m.Pos, path.Append(object.Field(m.Name)), "remove it; fields of this type: "+strings.Join(slices.Concat(required, allowed), ", "),
				"auth of type %s has no %s", kind, m.Name)
		}
	}
	for _, name := range required {
		if field(v, name).Kind == object.KindNone {
			d.Fail(v.Pos, path.Append(object.Field(name)), "write "+name+" beside type"+hint, "auth of type %s needs %s", kind, name)
		}
	}
	if s := field(v, "secret"); s.Kind != object.KindNone && slices.Contains(required, "secret") {
		return []secret{{Secret(kind), s.Text, s.Pos, path.Append(object.Field("secret"))}}
	}
	return nil
}

// setEnds sets the end of the names of the objects of each route: its path in letters and digits,
// with a hash if two routes have the same end.
func setEnds(routes []*route) {
	count := map[string]int{}
	for _, r := range routes {
		words := strings.FieldsFunc(strings.ToLower(r.path), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
		r.end = object.Shorten(strings.Join(words, "-"), 30)
		if r.end == "" {
			r.end = "root"
		}
		if r.exact {
			r.end += "-exact"
		}
		count[r.end]++
	}
	for _, r := range routes {
		if count[r.end] > 1 {
			r.end += "-" + object.ShortHash(strings.Join(append(r.hosts, r.path), "\x00"))
		}
	}
}
