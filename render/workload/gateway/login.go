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
	// loginImage is the program that answers logins. test/validators runs this version.
	loginImage = "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"
	// loginPort is where it listens, and that of its service.
	loginPort = 4180
	// loginPath begins all paths that it needs on the host of a route, such as /oauth2/callback.
	loginPath = "/oauth2"
	// loginHeaders are those in which it passes the user on.
	loginHeaders = "X-Auth-Request-*"
)

// Login is an oauth2-proxy that the routes of a namespace share which have the same issuer,
// client, Secret and scopes. It is a workload of the project.
type Login struct {
	// Name is that of the workload, and Namespace that of the Gateways.
	Name, Namespace string

	auth object.Value
	at   object.Path
	key  string
}

// Logins returns the oauth2-proxies that the Gateways of a project need, by the name of the first
// Gateway that needs each.
func Logins(gateways []*Gateway) []Login {
	var out []Login
	for _, g := range sorted(gateways) {
		own := g.logins()
		for _, l := range own {
			if slices.ContainsFunc(out, func(o Login) bool { return o.key == l.key && o.Namespace == l.Namespace }) {
				continue
			}
			// Only the Gateway itself decides about the hash, so that others do not change it.
			const longest = 63
			l.Name = g.Name + "-oauth2-proxy"
			if len(own) > 1 {
				l.Name += "-" + object.ShortHash(l.key)
			}
			l.Name = object.Shorten(l.Name, longest)
			out = append(out, l)
		}
	}
	return out
}

// sorted returns the Gateways by name.
func sorted(gateways []*Gateway) []*Gateway {
	out := slices.Clone(gateways)
	slices.SortStableFunc(out, func(a, b *Gateway) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// logins returns those that the routes of a Gateway need, each once and without a name.
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
// none, or if its author runs an oauth2-proxy.
func (g *Gateway) login(r *route) (Login, bool) {
	auth := r.setting("auth")
	own := Has(jc|tr, g.target) && field(auth, "type").Text == string(SecretOAuth2)
	if !own || len(given(auth, "issuer", "clientID", "secret")) < 3 || len(given(auth, "proxy")) > 0 {
		return Login{}, false
	}
	key := strings.Join(append([]string{field(auth, "issuer").Text, field(auth, "clientID").Text, field(auth, "secret").Text}, scopes(auth)...), "\x00")
	at := r.at.Append(object.Field("auth"))
	if field(r.Value, "auth").Kind == object.KindNone { // It is that of the Gateway.
		at = object.Fields("spec", "auth")
	}
	return Login{Namespace: g.Context.Namespace, auth: auth, at: at, key: key}, true
}

// scopes returns what is asked of the issuer. A login needs to know who the user is.
func scopes(auth object.Value) []string {
	out := []string{"openid", "email", "profile"}
	if own := field(auth, "scopes"); own.Kind != object.KindNone {
		out = out[:2]
		for _, s := range own.Items {
			out = append(out, s.Text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Workload returns the document of the workload of a login. The argument closed is true if the
// project closes the network of its workloads: the login may then call its issuer, whose other
// addresses only the issuer knows, so that the port is open.
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

// written returns errors on the workload as errors on what the author wrote.
func (l Login) written(errs object.Errors) object.Errors {
	out := slices.Clone(errs)
	for i, e := range errs {
		own := *e
		own.Path = l.at.String()
		out[i] = &own
	}
	return out
}

// args returns the arguments of the program. Where a login ends follows from the host of the
// request, and secrets come by variables.
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
		// The target sends requests to it for a yes or a no, and says by X-Forwarded-* what they are.
		"--reverse-proxy=true",
		"--upstream=static://202",
		"--set-xauthrequest=true",
		"--skip-provider-button=true",
		// Tokens of the issuer stay out of the cookie, so that a session ends and is asked for again.
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
	if err != nil { // It is wrong, which is reported.
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
// with two of them and routes that take its path.
func (j *joining) addLogins(gateways []*Gateway) {
	all := Logins(gateways)
	var entrances []entrance
	for _, g := range gateways {
		var added []*route
		for _, r := range g.routes {
			l, ok := g.login(r)
			if !ok {
				continue
			}
			l.Name = all[slices.IndexFunc(all, func(o Login) bool { return o.key == l.key && o.Namespace == l.Namespace })].Name
			r.login = l
			for _, host := range r.ofHosts() {
				e := entrance{entry: g.entry(), host: host, login: l, route: r}
				i := slices.IndexFunc(entrances, func(o entrance) bool { return o.entry == e.entry && o.host == host })
				switch {
				case i < 0:
					entrances = append(entrances, e)
					added = g.openLogin(added, e)
				case entrances[i].login.Name != l.Name:
					g.Partial = true
					j.fail(l.auth.Pos, l.at, entrances[i].route, "write the same issuer, clientID, secret and scopes, in Gateways of one namespace",
						"a second login for the host %s: its path %s/ leads to one oauth2-proxy only", host, loginPath)
				}
			}
		}
		if len(added) > 0 && field(g.spec, "tls").Kind == object.KindNone {
			l := added[0].login
			j.fail(l.auth.Pos, l.at, nil, "write tls, unless something before the target ends TLS", "browsers send the cookie of a login over TLS only, and the Gateway has no tls")
			j.errs[len(j.errs)-1].Severity = object.SeverityWarning
		}
		g.routes = append(g.routes, added...)
		setEnds(g.routes)
	}
	j.reportTaken(gateways, entrances)
}

// openLogin adds the host of e to the route of added that leads to its oauth2-proxy, or adds such
// a route. It has the settings of the Gateway that do not ask who a client is.
func (g *Gateway) openLogin(added []*route, e entrance) []*route {
	// A target prefers a host to a wildcard, and a wildcard to every host: the hosts of one route
	// are of one kind.
	every, wild := e.host == "*", strings.HasPrefix(e.host, "*.")
	i := slices.IndexFunc(added, func(r *route) bool {
		host := r.ofHosts()[0]
		return r.login.Name == e.login.Name && (host == "*") == every && strings.HasPrefix(host, "*.") == wild
	})
	if i < 0 {
		i = len(added)
		pos := e.login.auth.Pos
		added = append(added, &route{at: e.login.at, path: loginPath, login: e.login, entrance: true, Value: builder.Pairs(pos,
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
	// The route for every host has none.
	if !every {
		to := added[i]
		to.hosts = append(to.hosts, e.host)
		var hosts []object.Value
		for _, h := range to.hosts {
			hosts = append(hosts, object.TextAt(h, to.Pos))
		}
		to.Value = to.Without(object.Fields("hosts")).Merge(builder.Pairs(to.Pos, "hosts", object.ListAt(to.Pos, hosts...)))
	}
	return added
}

// reportTaken reports routes of the author to paths that an oauth2-proxy needs.
func (j *joining) reportTaken(gateways []*Gateway, entrances []entrance) {
	for _, g := range gateways {
		for _, r := range g.routes {
			below := r.path == loginPath || strings.HasPrefix(r.path, loginPath+"/")
			i := slices.IndexFunc(entrances, func(e entrance) bool {
				return e.entry == g.entry() && slices.ContainsFunc(r.ofHosts(), func(h string) bool { return covers(e.host, h) })
			})
			if !r.entrance && below && i >= 0 {
				g.Partial = true
				path := field(r.Value, "path")
				j.fail(path.Pos, r.at.Append(object.Field("path")), entrances[i].route, "change the path, or write proxy, the address of an oauth2-proxy of yours, in place of issuer, clientID and secret",
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

// checked returns auth as the module takes it: the address that is asked, and where a client
// without a session is sent. Traefik passes on what the oauth2-proxy answers, which leads there.
func (l Login) checked(target string) object.Value {
	pos := l.auth.Pos
	proxy := "http://" + l.Name + "." + l.Namespace + ".svc:" + strconv.Itoa(loginPort) + "/"
	var signin, headers object.Value
	if target == Jcmoraisjr {
		// Only with svc the controller follows the pods, and the path keeps the host of the request.
		proxy = "svc://" + l.Name + ":" + strconv.Itoa(loginPort) + loginPath + "/auth"
		signin = object.TextAt(loginPath+"/start?rd=%[pathq,url_enc]", pos)
		headers = object.TextAt(loginHeaders, pos)
	}
	return builder.Pairs(pos, "type", field(l.auth, "type"), "proxy", object.TextAt(proxy, pos), "signin", signin, "headers", headers)
}
