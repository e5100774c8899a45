// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"github.com/stretchr/testify/require"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/ip"
	"github.com/traefik/traefik/v3/pkg/middlewares/buffering"
	"github.com/traefik/traefik/v3/pkg/middlewares/headers"
	"github.com/traefik/traefik/v3/pkg/middlewares/redirect"
	"github.com/traefik/traefik/v3/pkg/middlewares/requestdecorator"
	muxer "github.com/traefik/traefik/v3/pkg/muxer/http"
	"github.com/traefik/traefik/v3/pkg/provider/kubernetes/crd"
	"github.com/traefik/traefik/v3/pkg/safe"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apiServer lists objects by the name of their resource, and watches nothing.
func apiServer(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	byResource := map[string][]any{}
	for _, o := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		byResource[resource.Group+"/"+resource.Resource] = append(byResource[resource.Group+"/"+resource.Resource], o.Object)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		group := ""
		if parts := strings.Split(r.URL.Path, "/"); parts[1] == "apis" {
			group = parts[2]
		}
		w.Header().Set("Content-Type", "application/json")
		items := byResource[group+"/"+path.Base(r.URL.Path)]
		if items == nil {
			items = []any{}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": items}) // a client that is gone
	}))
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// lines collects what Traefik logs.
type lines struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

// traefik is the configuration that Traefik makes of a render, and its warnings and errors.
func traefik(t *testing.T, r Rendered) (dynamic.Configuration, string) {
	t.Helper()
	objects := append([]*unstructured.Unstructured{}, r.Objects...)
	for _, s := range Secrets(t, r) {
		objects = append(objects, untyped(t, s))
	}
	for _, o := range r.Of("", "Service") {
		service := As[core.Service](t, o)
		slice := &discovery.EndpointSlice{
			TypeMeta:   metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
			ObjectMeta: metav1.ObjectMeta{Name: service.Name, Namespace: service.Namespace, Labels: map[string]string{discovery.LabelServiceName: service.Name}},
			Endpoints:  []discovery.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discovery.EndpointConditions{Ready: new(true), Serving: new(true)}}},
		}
		for _, p := range service.Spec.Ports {
			slice.Ports = append(slice.Ports, discovery.EndpointPort{Name: &p.Name, Port: &p.Port})
		}
		objects = append(objects, untyped(t, slice))
	}
	logged, before := &lines{}, log.Logger
	log.Logger = zerolog.New(logged).Level(zerolog.WarnLevel)
	t.Cleanup(func() { log.Logger = before })
	provider := &crd.Provider{Endpoint: apiServer(t, objects), Token: "x", SafeNaming: new(false)}
	require.NoError(t, provider.Init())
	pool := safe.NewPool(t.Context())
	defer pool.Stop()
	out := make(chan dynamic.Message, 100)
	require.NoError(t, provider.Provide(out, pool))
	select {
	case message := <-out:
		logged.Lock()
		defer logged.Unlock()
		return *message.Configuration, logged.String()
	case <-time.After(20 * time.Second):
		require.Fail(t, "no configuration", logged.String())
		return dynamic.Configuration{}, ""
	}
}

// handlers are the routers of a configuration by entry point; each answers with its name
// in the header Router, after those of its middlewares whose code can be imported.
func handlers(t *testing.T, c dynamic.Configuration) map[string]http.Handler {
	t.Helper()
	parser, err := muxer.NewSyntaxParser()
	require.NoError(t, err)
	byEntry := map[string]*muxer.Muxer{}
	for name, router := range c.HTTP.Routers {
		var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Router", name) })
		require.NotEmpty(t, router.EntryPoints, name)
		if router.Service != "noop@internal" {
			require.NotEmpty(t, c.HTTP.Services[router.Service].LoadBalancer.Servers, name)
		}
		for i := len(router.Middlewares) - 1; i >= 0; i-- {
			ware := c.HTTP.Middlewares[router.Middlewares[i]]
			require.NotNil(t, ware, "%s: %s", name, router.Middlewares[i])
			next = around(t, next, ware)
		}
		for _, entry := range router.EntryPoints {
			if byEntry[entry] == nil {
				byEntry[entry] = muxer.NewMuxer(parser, nil)
			}
			require.Positive(t, router.Priority)
			require.NoError(t, byEntry[entry].AddRoute(router.Rule, "", router.Priority, "", next), name)
		}
	}
	out := map[string]http.Handler{}
	for entry, m := range byEntry {
		out[entry], err = requestdecorator.WrapHandler(requestdecorator.New(nil))(m)
		require.NoError(t, err)
	}
	return out
}

// around puts a middleware before a handler.
func around(t *testing.T, next http.Handler, ware *dynamic.Middleware) http.Handler {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var err error
	switch {
	case ware.Headers != nil:
		next, err = headers.New(ctx, next, *ware.Headers, "")
	case ware.RedirectRegex != nil:
		next, err = redirect.NewRedirectRegex(ctx, next, *ware.RedirectRegex, "")
	case ware.RedirectScheme != nil:
		next, err = redirect.NewRedirectScheme(ctx, next, *ware.RedirectScheme, "")
	case ware.Buffering != nil:
		_, err = buffering.New(ctx, next, *ware.Buffering, "")
	case ware.IPAllowList != nil:
		_, err = ip.NewChecker(ware.IPAllowList.SourceRange)
	}
	require.NoError(t, err)
	return next
}

func TestTraefikTakesRoutes(t *testing.T) {
	found := 0
	for _, r := range Examples(t) {
		routes := r.Of("traefik.io", "IngressRoute")
		if len(routes) == 0 {
			continue
		}
		configuration, logged := traefik(t, r)
		require.Empty(t, logged, r.Name)
		require.Len(t, configuration.HTTP.Routers, len(routes), r.Name)
		require.Len(t, configuration.HTTP.Middlewares, len(r.Of("traefik.io", "Middleware")), r.Name)
		byEntry := handlers(t, configuration)
		found++
		if r.Name != "everything traefik" {
			continue
		}
		for _, c := range []struct{ entry, request, want string }{
			{"websecure", "GET https://shop.example.com/", "200 shop-root"},
			{"websecure", "GET https://shop.example.net/v1/x", "200 shop-v1"},
			{"websecure", "GET https://shop.example.com/v1x", "200 shop-root"},
			{"websecure", "GET https://shop.example.com/health", "200 shop-health-exact"},
			{"websecure", "GET https://shop.example.com/healthy", "200 shop-root"},
			{"websecure", "GET https://x.example.org/a.b", "200 shop-a-b"},
			{"websecure", "GET https://x.y.example.org/a.b", "404 "},
			{"websecure", "GET https://shop.example.com/axb", "200 shop-root"},
			{"websecure", "GET https://shop.example.com/old/y", "301 https://new.example.com/x"},
			{"websecure", "GET https://shop.example.com/older/y?z=1", "302 https://new.example.com/older/y?z=1"},
			{"web", "GET http://shop.example.com/v1", "301 https://shop.example.com/v1"},
			{"websecure", "OPTIONS https://shop.example.com/v1 https://a.example.com", "200 https://a.example.com"},
			{"websecure", "OPTIONS https://shop.example.com/v1 https://a.example.com.evil", "200 "},
			{"websecure", "OPTIONS https://shop.example.com/v1 https://evilexample.com", "200 "},
		} {
			require.Equal(t, c.want, send(t, byEntry[c.entry], c.request), c.request)
		}
	}
	require.Positive(t, found)
}

// send sends a request: method, address and the origin of a preflight request. It returns the
// status, and the origin that is allowed, the address of a redirect or the router.
func send(t *testing.T, handler http.Handler, request string) string {
	t.Helper()
	words := strings.Fields(request)
	r := httptest.NewRequestWithContext(t.Context(), words[0], words[1], nil)
	if len(words) > 2 {
		r.Header.Set("Origin", words[2])
		r.Header.Set("Access-Control-Request-Method", http.MethodPut)
		r.Header.Set("Access-Control-Request-Headers", "X-Key")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	text := w.Header().Get("Location")
	if len(words) > 2 {
		text = w.Header().Get("Access-Control-Allow-Origin")
	} else if text == "" {
		name := w.Header().Get("Router")
		text = strings.TrimPrefix(name[:max(0, strings.LastIndex(name, "-"))], "shop-")
	}
	return fmt.Sprintf("%d %s", w.Code, text)
}

// What Traefik does not take, so that the test above can fail.
func TestTraefikRefusesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, kind, object string
		value              any
		field              []string
		want               string
	}{
		{"a Secret that is not there", "IngressRoute", "shop-root", "gone", []string{"spec", "tls", "secretName"}, "secret shop/gone does not exist"},
		{"a Service that is not there", "Service", "api", "other", []string{"metadata", "name"}, "service not found"},
		{"no period of a limit", "Middleware", "shop-root-limit", "1 minute", []string{"spec", "rateLimit", "period"}, "Error while reading rateLimit middleware"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, _, err := Render(t, root(t)+"/test/validators/testdata/everything", "--env", "traefik")
			require.NoError(t, err)
			r := Rendered{c.name, Objects(t, stream)}
			for _, o := range r.Objects {
				if o.GetKind() == c.kind && o.GetName() == c.object {
					require.NoError(t, unstructured.SetNestedField(o.Object, c.value, c.field...))
				}
			}
			_, logged := traefik(t, r)
			require.Contains(t, logged, c.want)
		})
	}
}
