// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

const (
	// loginImage is the image of oauth2-proxy. test/validators runs this version.
	loginImage = "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"
	// loginPort is the port of its container and of its service.
	loginPort = 4180
	// loginPath begins all paths that it needs on the host of a route, such as /oauth2/callback.
	loginPath = "/oauth2"
	// loginHeaders are the headers with which it passes the user on.
	loginHeaders = "X-Auth-Request-*"
)

// Login is an oauth2-proxy for the routes of a namespace that have the same issuer, client, Secret
// and scopes. It is a workload of the project.
type Login struct {
	// Name is the name of the workload, and Namespace the namespace of the Gateways.
	Name, Namespace string

	auth     object.Value
	location object.Path
	key      string
}

// Logins returns the oauth2-proxies that the Gateways of a project need. Each is called after the
// first Gateway that needs it.
func Logins(gateways []*Gateway) []Login {
	var out []Login
	for _, g := range byName(gateways) {
		logins := g.logins()
		for _, l := range logins {
			if slices.ContainsFunc(out, func(o Login) bool { return o.key == l.key && o.Namespace == l.Namespace }) {
				continue
			}
			// The hash depends on this Gateway only, so that others do not change the name.
			const longest = 63
			l.Name = g.Name + "-oauth2-proxy"
			if len(logins) > 1 {
				l.Name += "-" + object.ShortHash(l.key)
			}
			l.Name = object.Shorten(l.Name, longest)
			out = append(out, l)
		}
	}
	return out
}

// byName returns the Gateways sorted by name.
func byName(gateways []*Gateway) []*Gateway {
	out := slices.Clone(gateways)
	slices.SortStableFunc(out, func(a, b *Gateway) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// logins returns the logins that the routes of a Gateway need, each once and without a name.
func (g *Gateway) logins() []Login {
	var out []Login
	for _, r := range g.routes {
		l, ok := g.login(r)
		if ok && !slices.ContainsFunc(out, func(o Login) bool { return o.key == l.key }) {
			out = append(out, l)
		}
	}
	return out
}

// login returns the login that a route needs, without a name. It returns false if the route needs
// no login, or if its author runs an oauth2-proxy.
func (g *Gateway) login(r *route) (Login, bool) {
	auth := r.setting("auth")
	needs := Has(jc|tr, g.target) && field(auth, "type").Text == string(SecretOAuth2)
	if !needs || len(present(auth, "issuer", "clientID", "secret")) < 3 || len(present(auth, "proxy")) > 0 {
		return Login{}, false
	}
	identity := []string{field(auth, "issuer").Text, field(auth, "clientID").Text, field(auth, "secret").Text}
	key := strings.Join(append(identity, scopes(auth)...), "\x00")
	location := r.location.Append(object.Field("auth"))
	if field(r.Value, "auth").Kind == object.KindNone { // The Gateway has the field.
		location = object.Fields("spec", "auth")
	}
	return Login{Namespace: g.Context.Namespace, auth: auth, location: location, key: key}, true
}

// scopes returns the scopes that the issuer is asked for. A login needs the identity of the user.
func scopes(auth object.Value) []string {
	out := []string{"openid", "email", "profile"}
	if written := field(auth, "scopes"); written.Kind != object.KindNone {
		out = out[:2]
		for _, s := range written.Items {
			out = append(out, s.Text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Workload returns the document of the workload of a login. The argument closed is true if the
// project closes the network of its workloads: the login may then call any address at the port of
// its issuer, because only the issuer knows its other addresses.
func (l Login) Workload(closed bool) spec.Document {
	pos := l.auth.Pos
	text := func(s string) object.Value { return object.TextAt(s, pos) }
	pairs := func(of ...any) object.Value { return builder.Pairs(pos, of...) }
	secret := func(key string) object.Value { return pairs("local", field(l.auth, "secret"), "key", text(key)) }
	probe := func(path string) object.Value {
		return pairs("httpGet", pairs("path", text(path), "port", object.NumberAt(loginPort, pos)))
	}

	// The program keeps no state: a session is in a cookie.
	args := object.Value{Kind: object.KindList, Pos: pos}
	for _, arg := range l.args() {
		args.Items = append(args.Items, text(arg))
	}
	container := pairs(
		"image", text(loginImage),
		"args", args,
		"variables", pairs("OAUTH2_PROXY_CLIENT_SECRET", secret(keyClient), "OAUTH2_PROXY_COOKIE_SECRET", secret(keyCookie)),
		"resources", pairs(
			"requests", pairs("cpu", text("10m"), "memory", text("32Mi")),
			"limits", pairs("cpu", text("500m"), "memory", text("128Mi")),
		),
		"livenessProbe", probe("/ping"),
		"readinessProbe", probe("/ready"),
		"securityContext", pairs(
			"allowPrivilegeEscalation", object.BoolAt(false, pos),
			"capabilities", pairs("drop", object.ListAt(pos, text("ALL"))),
			"readOnlyRootFilesystem", object.BoolAt(true, pos),
			"runAsNonRoot", object.BoolAt(true, pos),
		),
	)

	// The issuer is outside of a closed network.
	var network object.Value
	if closed {
		network = pairs("allowTo", object.ListAt(pos, pairs("ports", object.ListAt(pos, object.NumberAt(l.issuerPort(), pos)))))
	}
	doc := pairs(
		"apiVersion", text(spec.APIVersion), "kind", text(spec.KindWorkload), "metadata", pairs("name", text(l.Name)),
		"spec", pairs(
			"namespace", text(l.Namespace),
			"kind", text("Deployment"),
			"containers", pairs("proxy", container),
			"service", pairs("ports", pairs("http", pairs("port", object.NumberAt(loginPort, pos)))),
			"network", network,
		),
	)
	return spec.Document{Kind: spec.KindWorkload, Name: l.Name, Pos: pos, NamePos: pos, Value: doc, Written: l.written}
}

// written returns errors on the workload as errors on the field auth of the author.
func (l Login) written(errs object.Errors) object.Errors {
	out := slices.Clone(errs)
	for i, e := range errs {
		changed := *e
		changed.Path = l.location.String()
		out[i] = &changed
	}
	return out
}

// args returns the arguments of the program. The address of the callback follows from the host of
// the request, and secrets come by variables.
func (l Login) args() []string {
	return []string{
		"--http-address=:" + strconv.Itoa(loginPort),
		"--provider=oidc",
		"--oidc-issuer-url=" + field(l.auth, "issuer").Text,
		"--client-id=" + field(l.auth, "clientID").Text,
		"--scope=" + strings.Join(scopes(l.auth), " "),
		"--code-challenge-method=S256",
		// Every user of the issuer may log in.
		"--email-domain=*",
		// The target asks it about each request, and describes the request by X-Forwarded-*.
		"--reverse-proxy=true",
		"--upstream=static://202",
		"--set-xauthrequest=true",
		"--skip-provider-button=true",
		// Tokens of the issuer stay out of the cookie, so that a session ends and is checked again.
		"--session-cookie-minimal=true",
		"--cookie-secure=true",
		"--cookie-samesite=lax",
		"--cookie-expire=12h",
		// The address of a callback has the code of the login in it.
		"--request-logging=false",
	}
}

// issuerPort returns the port of the issuer.
func (l Login) issuerPort() int {
	const https = 443
	u, err := url.Parse(field(l.auth, "issuer").Text)
	if err != nil { // The mistake is reported.
		return https
	}
	port, _ := strconv.Atoi(u.Port())
	return cmp.Or(port, https)
}

// entrance is a host at which clients log in.
type entrance struct {
	entry, host string
	login       Login
	route       *route
}

// addLogins adds a route to the oauth2-proxy for each host whose routes need it, and reports hosts
// with two oauth2-proxies and routes that take its path.
func (j *joining) addLogins(gateways []*Gateway) {
	logins := Logins(gateways)
	var entrances []entrance
	for _, g := range gateways {
		var added []*route
		for _, r := range g.routes {
			l, ok := g.login(r)
			if !ok {
				continue
			}
			l.Name = logins[slices.IndexFunc(logins, func(o Login) bool { return o.key == l.key && o.Namespace == l.Namespace })].Name
			r.login = l
			for _, host := range r.hostsOrAny() {
				e := entrance{entry: g.entry(), host: host, login: l, route: r}
				i := slices.IndexFunc(entrances, func(o entrance) bool { return o.entry == e.entry && o.host == host })
				switch {
				case i < 0:
					entrances = append(entrances, e)
					added = g.openLogin(added, e)
				case entrances[i].login.Name != l.Name:
					g.Partial = true
					j.fail(l.auth.Pos, l.location, entrances[i].route, "write the same issuer, clientID, secret and scopes, in Gateways of one namespace",
						"a second login for the host %s: its path %s/ leads to one oauth2-proxy only", host, loginPath)
				}
			}
		}
		if len(added) > 0 && field(g.spec, "tls").Kind == object.KindNone {
			l := added[0].login
			j.fail(l.auth.Pos, l.location, nil, "write tls, unless something before the target ends TLS",
				"browsers send the cookie of a login over TLS only, and the Gateway has no tls")
			j.errs[len(j.errs)-1].Severity = object.SeverityWarning
		}
		g.routes = append(g.routes, added...)
		setEnds(g.routes)
	}
	j.reportTaken(gateways, entrances)
}

// openLogin adds the host of e to the route of added that leads to its oauth2-proxy, or adds such
// a route. It has the settings of the Gateway except authentication and CORS.
func (g *Gateway) openLogin(added []*route, e entrance) []*route {
	// A target prefers a host to a wildcard, and a wildcard to every host: the hosts of one route
	// are of one kind.
	every, wildcard := e.host == "*", strings.HasPrefix(e.host, "*.")
	i := slices.IndexFunc(added, func(r *route) bool {
		host := r.hostsOrAny()[0]
		return r.login.Name == e.login.Name && (host == "*") == every && strings.HasPrefix(host, "*.") == wildcard
	})
	if i < 0 {
		i = len(added)
		pos := e.login.auth.Pos
		added = append(added, &route{location: e.login.location, path: loginPath, login: e.login, entrance: true, Value: builder.Pairs(pos,
			"path", object.TextAt(loginPath, pos),
			"to", builder.Pairs(pos, "workload", object.TextAt(e.login.Name, pos), "port", object.NumberAt(loginPort, pos)),
		)})
		for _, s := range settings() {
			v := field(g.spec, s.Name)
			if s.Name != "auth" && s.Name != "cors" && v.Kind != object.KindNone && v.Kind != object.KindBool {
				added[i].settings = append(added[i].settings, member(s.Name, v))
			}
		}
	}
	// The route for every host has no hosts.
	if !every {
		target := added[i]
		target.hosts = append(target.hosts, e.host)
		var hosts []object.Value
		for _, h := range target.hosts {
			hosts = append(hosts, object.TextAt(h, target.Pos))
		}
		target.Value = target.Without(object.Fields("hosts")).Merge(builder.Pairs(target.Pos, "hosts", object.ListAt(target.Pos, hosts...)))
	}
	return added
}

// reportTaken reports routes of the author to paths that an oauth2-proxy needs.
func (j *joining) reportTaken(gateways []*Gateway, entrances []entrance) {
	for _, g := range gateways {
		for _, r := range g.routes {
			below := r.path == loginPath || strings.HasPrefix(r.path, loginPath+"/")
			i := slices.IndexFunc(entrances, func(e entrance) bool {
				return e.entry == g.entry() && slices.ContainsFunc(r.hostsOrAny(), func(h string) bool { return covers(e.host, h) })
			})
			taken := !r.entrance && below
			if taken && i >= 0 {
				g.Partial = true
				path := field(r.Value, "path")
				hint := "change the path, or write proxy, the address of an oauth2-proxy of yours, in place of issuer, clientID and secret"
				j.fail(path.Pos, r.location.Append(object.Field("path")), entrances[i].route, hint,
					"the oauth2-proxy needs all paths below %s/ of the host %s", loginPath, entrances[i].host)
			}
		}
	}
}

// covers reports whether requests for host may come to the routes of other, which may be a
// wildcard or "*" for every host.
func covers(other, host string) bool {
	_, domain, _ := strings.Cut(host, ".")
	return other == "*" || other == host || other == "*."+domain
}

// authInput returns auth in the form of the module: the address that checks requests, and the address
// for clients without a session. Traefik passes on the answer of the oauth2-proxy, which leads there.
func (l Login) authInput(target string) object.Value {
	pos := l.auth.Pos
	proxy := "http://" + l.Name + "." + l.Namespace + ".svc:" + strconv.Itoa(loginPort) + "/"
	var signin, headers object.Value
	if target == Jcmoraisjr {
		// Only svc follows the pods, and the path keeps the host of the request.
		proxy = "svc://" + l.Name + ":" + strconv.Itoa(loginPort) + loginPath + "/auth"
		signin = object.TextAt(loginPath+"/start?rd=%[pathq,url_enc]", pos)
		headers = object.TextAt(loginHeaders, pos)
	}
	return builder.Pairs(pos, "type", field(l.auth, "type"), "proxy", object.TextAt(proxy, pos), "signin", signin, "headers", headers)
}
