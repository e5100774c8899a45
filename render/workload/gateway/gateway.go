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
	// of it: it is checked for what else is wrong, and has no input.
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
	at    object.Path
	hosts []string
	path  string
	exact bool
	// settings are those in effect, in the order of the table.
	settings []object.Member
	// end is what the names of its objects end in.
	end string
	// namespace and port are those of the workload; the port is 0 where there is none.
	namespace string
	port      score.Port
	// login is the oauth2-proxy that the route needs, or, for the entrance to one, leads to.
	login    Login
	entrance bool
}

// secret is a Secret that a Gateway names.
type secret struct {
	kind Secret
	name string
	pos  object.Pos
	at   object.Path
}

// decoder holds a document against the table.
type decoder struct {
	document.Decoder
	target string
	// can are the targets that can do all of it.
	can Set
	// names are those of the settings.
	names []string
}

// able reports whether the target is one of by. If it is not, it reports a mistake: the target
// has no what.
func (d *decoder) able(by Set, what string, pos object.Pos, at object.Path) bool {
	if by == 0 || d.target == "" || Has(by, d.target) {
		return true
	}
	d.Fail(pos, at, "remove it"+instead(by, d.can), "the target %s has no %s", d.target, what)
	return false
}

// Decode checks the spec of a Gateway against the table, and fills the defaults into its routes.
// The errors are of the stage spec, in no particular order. The Gateway holds the valid
// parts of the document.
func Decode(name string, pos object.Pos, c object.Context, spec object.Value) (*Gateway, object.Errors) {
	g := &Gateway{Name: name, Context: c, Pos: pos, spec: object.Value{Kind: object.KindMap, Pos: pos}}
	at := object.Fields("spec")
	d := &decoder{}
	d.Able = d.able
	for _, s := range settings() {
		d.names = append(d.names, s.Name)
	}
	if target := field(spec, "target").Text; slices.Contains(Targets(), target) {
		d.target = target
		g.target = target
	}

	// Find out what the targets can do: hints name those that can do all of it.
	all := Field{Kind: object.KindMap, Fields: Fields()}
	d.can = can(all, spec)
	g.can = d.can
	if good, ok := d.Decode(all, spec, at); ok {
		g.spec = good
	}

	// Check what no table says: fields that depend on each other or on the target.
	d.checkEntry(g)
	g.secrets = append(g.secrets, d.checkSettings(g.spec, at)...)
	for i, v := range field(g.spec, "routes").Items {
		r := &route{Value: v, at: at.Append(object.Field("routes"), object.Index(i))}
		d.fillRoute(g, r)
		g.secrets = append(g.secrets, d.checkSettings(v, r.at)...)
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

// given returns those of names that v has as fields.
func given(v object.Value, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return field(v, name).Kind == object.KindNone })
}

// checkEntry checks where requests come in: class, gateway and tls.
func (d *decoder) checkEntry(g *Gateway) {
	at := object.Fields("spec")
	class := field(g.spec, "class")
	existing := field(g.spec, "gateway")
	tls := field(g.spec, "tls")
	switch {
	case existing.Kind != object.KindNone && class.Kind != object.KindNone:
		d.Fail(class.Pos, at.Append(object.Field("class")), "remove it", "the Gateway %q has its class already", field(existing, "name").Text)
	case d.target == GatewayAPI && existing.Kind == object.KindNone && class.Kind == object.KindNone:
		d.Fail(g.Pos, at.Append(object.Field("class")), "write the name of a GatewayClass of the cluster, or name a Gateway under gateway", "is missing")
	}

	// Certificates belong to the listeners, which a Gateway that exists already has.
	if tls.Kind == object.KindNone {
		return
	}
	in := at.Append(object.Field("tls"))
	switch n := len(given(tls, "secret", "issuer")); {
	case existing.Kind != object.KindNone:
		d.Fail(tls.Pos, in, "remove it", "the listeners of the Gateway %q have the certificates", field(existing, "name").Text)
	case n != 1:
		d.Fail(tls.Pos, in, "", "expected one of secret and issuer, got %d", n)
	case len(g.hosts()) == 0 && field(tls, "issuer").Kind != object.KindNone:
		d.Fail(tls.Pos, in, "write hosts", "a certificate needs the hosts that it is for")
	}
	if s := field(tls, "secret"); s.Kind != object.KindNone {
		g.secrets = append(g.secrets, secret{SecretTLS, s.Text, s.Pos, in.Append(object.Field("secret"))})
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

	// Hosts and settings of the Gateway are those of a route that has none. A setting that is off
	// stays off.
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
	in := func(name string) object.Path { return r.at.Append(object.Field(name)) }
	switch to := field(r.Value, "to"); {
	case to.Kind != object.KindNone || len(r.Members) == 0:
	case redirect.Kind == object.KindNone:
		d.Fail(r.Pos, in("to"), "write to: {workload: …}, or a redirect", "is missing")
	case Has(ingresses, d.target):
		d.Fail(r.Pos, in("to"), "write the workload that the host belongs to, which receives no request"+instead(all&^ingresses, d.can), "an Ingress with a redirect needs a workload")
	}
	d.checkRedirect(redirect, in("redirect"))
	d.checkCallback(r)
	d.checkPreflight(r)

	// A rewrite needs a workload, and one new path.
	if rewrite.Kind == object.KindNone {
		return
	}
	switch n := len(given(rewrite, "path", "prefix")); {
	case redirect.Kind != object.KindNone:
		d.Fail(rewrite.Pos, in("rewrite"), "remove it", "a redirect has no path to rewrite")
	case n > 1:
		d.Fail(rewrite.Pos, in("rewrite"), "remove one of them", "expected one of path and prefix, got both")
	case r.exact && field(rewrite, "prefix").Kind != object.KindNone:
		d.Fail(rewrite.Pos, in("rewrite"), "write path in place of prefix", "an exact path has no prefix")
	}
}

// checkCallback checks that a login of Envoy Gateway ends at an address that the route receives.
// Otherwise no client would ever have a session.
func (d *decoder) checkCallback(r *route) {
	auth := r.setting("auth")
	if d.target != EnvoyGateway || field(auth, "type").Text != "oauth2" || r.path == "" {
		return
	}
	end := "/oauth2/callback"
	pos := auth.Pos
	if v := field(auth, "redirectURL"); v.Kind != object.KindNone {
		u, err := url.Parse(v.Text)
		if err != nil { // It is wrong, which is reported.
			return
		}
		end = u.Path
		pos = v.Pos
	}
	if end != r.path && (r.exact || !strings.HasPrefix(end, strings.TrimSuffix(r.path, "/")+"/")) {
		d.Fail(pos, r.at.Append(object.Fields("auth", "redirectURL")...), "write redirectURL: https://HOST"+strings.TrimSuffix(r.path, "/")+"/oauth2/callback",
			"a login ends at %s, which the route for %s does not receive", end, r.path)
	}
}

// checkPreflight warns of authentication that comes before CORS: browsers ask without credentials
// what they may send.
func (d *decoder) checkPreflight(r *route) {
	cors := r.setting("cors")
	known := slices.ContainsFunc(d.Errs, func(e *object.Error) bool { return e.Pos == cors.Pos })
	if d.target != Haproxytech || cors.Kind == object.KindNone || r.setting("auth").Kind == object.KindNone || known {
		return
	}
	d.Fail(cors.Pos, r.at.Append(object.Field("cors")), "remove auth or cors"+instead(jc|tr|eg, d.can),
		"the target %s asks for auth before it answers the OPTIONS requests of browsers, which get 401", d.target)
	if last := d.Errs[len(d.Errs)-1]; last.Pos == cors.Pos {
		last.Severity = object.SeverityWarning
	}
}

// checkRedirect checks what the targets can combine in a redirect.
func (d *decoder) checkRedirect(v object.Value, at object.Path) {
	parts := given(v, "scheme", "host", "path")
	switch {
	case v.Kind == object.KindNone:
	case len(parts) == 0:
		d.Fail(v.Pos, at, "", "expected at least one of scheme, host and path")
	case d.target == Jcmoraisjr && len(parts) < 3:
		d.Fail(v.Pos, at, "write all three"+instead(all&^jc, d.can), "the target %s redirects to a complete address: scheme, host and path", d.target)
	}
}

// checkSettings checks the settings of a route, or the defaults of the Gateway, and returns the
// Secrets that they name.
func (d *decoder) checkSettings(v object.Value, at object.Path) []secret {
	in := func(names ...string) object.Path { return at.Append(object.Fields(names...)...) }
	if limit := field(v, "rateLimit"); d.target == EnvoyGateway && limit.Kind == object.KindMap && field(limit, "by").Kind == object.KindNone {
		d.Fail(limit.Pos, in("rateLimit", "by"), "write by: all"+instead(ingresses|tr, d.can),
			"the target %s counts no single clients, which is the default", d.target)
	}

	// Browsers refuse some combinations of "*".
	cors := field(v, "cors")
	for _, name := range []string{"allowOrigins", "allowMethods", "allowHeaders"} {
		l := field(cors, name)
		switch i := slices.IndexFunc(l.Items, func(o object.Value) bool { return o.Text == "*" }); {
		case i < 0:
		case len(l.Items) > 1:
			d.Fail(l.Items[i].Pos, in("cors", name), "remove it, or the others", "\"*\" must be the only item")
		case field(cors, "allowCredentials").Text == "true":
			d.Fail(l.Items[i].Pos, in("cors", name), "list what is allowed, or remove allowCredentials", "browsers refuse \"*\" together with allowCredentials")
		}
	}

	auth := field(v, "auth")
	if auth.Kind != object.KindMap {
		return nil
	}
	return d.checkAuth(auth, in("auth"))
}

// checkAuth checks that the fields are those of the type, and returns the Secret that they name.
func (d *decoder) checkAuth(v object.Value, at object.Path) []secret {
	kind := field(v, "type").Text

	// Each type needs some fields and may have others.
	oauth2 := []string{"issuer", "clientID", "secret"}
	more := []string{"scopes"}
	key := []string{"proxy", "header"}
	proxy := field(v, "proxy")
	hint := ""
	own := len(given(v, "proxy", "signin")) > 0 || d.Known(at.Append(object.Field("proxy")))
	switch {
	case d.target == EnvoyGateway:
		more = append(more, "redirectURL")
		key = []string{"secret", "header"}
	case kind != string(SecretOAuth2):
	case proxy.Kind != object.KindNone && len(given(v, oauth2...)) > 0:
		d.Fail(proxy.Pos, at.Append(object.Field("proxy")), "remove proxy, for an oauth2-proxy that is made, or remove "+strings.Join(given(v, "issuer", "clientID", "secret", "scopes"), ", "),
			"expected an oauth2-proxy of yours or the issuer for one that is made, got both")
		return nil
	case own:
		oauth2 = []string{"proxy"}
		more = []string{"signin"}
	default:
		hint = ", or proxy, the address of an oauth2-proxy of yours"
	}
	need := map[string][]string{
		"basic": {"secret"}, "api-key": key, "oauth2": oauth2, "jwt": {"issuer", "jwks"},
	}[kind]
	may := map[string][]string{"basic": {"realm"}, "oauth2": more, "jwt": {"audiences"}}[kind]
	if need == nil {
		return nil
	}

	// Report what the type does not have, and then what it lacks.
	for _, m := range v.Members {
		if m.Name != "type" && !slices.Contains(slices.Concat(need, may), m.Name) {
			d.Fail(m.Pos, at.Append(object.Field(m.Name)), "remove it; fields of this type: "+strings.Join(slices.Concat(need, may), ", "),
				"auth of type %s has no %s", kind, m.Name)
		}
	}
	for _, name := range need {
		if field(v, name).Kind == object.KindNone {
			d.Fail(v.Pos, at.Append(object.Field(name)), "write "+name+" beside type"+hint, "auth of type %s needs %s", kind, name)
		}
	}
	if s := field(v, "secret"); s.Kind != object.KindNone && slices.Contains(need, "secret") {
		return []secret{{Secret(kind), s.Text, s.Pos, at.Append(object.Field("secret"))}}
	}
	return nil
}

// setEnds sets the end of the names of the objects of each route: its path in letters and digits,
// with a hash if two routes have the same.
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
