// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/test/servers"
)

// layerSize is how large the layer is that is copied: a render of some hundred
// objects, compressed.
const layerSize = 256 << 10

// copier copies the artifact with the tag v1 from one repository to another,
// both as host/name.
type copier struct {
	name string
	copy func(ctx context.Context, from, to string) error
}

// bare copies the artifact and nothing that refers to it.
func bare() []copier {
	return []copier{
		{"ropewalk", func(ctx context.Context, from, to string) error {
			return ropewalkCopy(ctx, from, to, artifact.CopyOptions{})
		}},
		{"oras", func(ctx context.Context, from, to string) error { return orasCopy(ctx, from, to, false) }},
		{"crane", func(ctx context.Context, from, to string) error {
			return crane.Copy(from+":v1", to+":v1", crane.Insecure, crane.WithContext(ctx))
		}},
	}
}

// whole copies its referrers as well.
func whole() []copier {
	return []copier{
		{"ropewalk", func(ctx context.Context, from, to string) error {
			return ropewalkCopy(ctx, from, to, artifact.CopyOptions{Referrers: true, At: time.Now()})
		}},
		{"oras", func(ctx context.Context, from, to string) error { return orasCopy(ctx, from, to, true) }},
	}
}

// listed copies referrers between registries that keep lists of them. There crane
// can do it too: the list is an index under a tag, whose manifests it copies.
func listed(digest string) []copier {
	list := strings.Replace(digest, ":", "-", 1)
	return append(whole(), copier{"crane", func(ctx context.Context, from, to string) error {
		for _, tag := range []string{"v1", list} {
			if err := crane.Copy(from+":"+tag, to+":"+tag, crane.Insecure, crane.WithContext(ctx)); err != nil {
				return err
			}
		}
		return nil
	}})
}

func repository(reference string) (*remote.Repository, error) {
	r, err := remote.NewRepository(reference)
	if err == nil {
		r.PlainHTTP, r.SkipReferrersGC = true, true
	}
	return r, err
}

func ropewalkCopy(ctx context.Context, from, to string, opts artifact.CopyOptions) error {
	src, err := repository(from)
	if err != nil {
		return err
	}
	dst, err := repository(to)
	if err != nil {
		return err
	}
	_, err = artifact.Copy(ctx, src, dst, "v1", opts)
	return err
}

func orasCopy(ctx context.Context, from, to string, referrers bool) error {
	src, err := repository(from)
	if err != nil {
		return err
	}
	dst, err := repository(to)
	if err != nil {
		return err
	}
	if referrers {
		_, err = oras.ExtendedCopy(ctx, src, "v1", dst, "v1", oras.DefaultExtendedCopyOptions)
	} else {
		_, err = oras.Copy(ctx, src, "v1", dst, "v1", oras.DefaultCopyOptions)
	}
	return err
}

// fixture puts an artifact with a signature and an SBOM into a registry and
// returns its digest.
func fixture(tb testing.TB, at string) string {
	tb.Helper()
	repo, err := repository(at)
	require.NoError(tb, err)
	layer := make([]byte, layerSize)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(layer) // it never fails
	subject := push(tb, repo, ocispec.Manifest{
		Config: blob(tb, repo, "application/vnd.cncf.flux.config.v1+json", []byte("{}")),
		Layers: []ocispec.Descriptor{blob(tb, repo, ocispec.MediaTypeImageLayerGzip, layer)},
	})
	require.NoError(tb, repo.Tag(tb.Context(), subject, "v1"))

	private, _, err := signature.GenerateKey()
	require.NoError(tb, err)
	signer, err := signature.ParsePrivateKey(private, nil)
	require.NoError(tb, err)
	about := statement.Subject{Digest: subject.Digest.String()}
	signed, err := statement.Signature(about)
	require.NoError(tb, err)
	sbom, err := statement.SBOM(images(), about)
	require.NoError(tb, err)
	for _, stated := range [][]byte{signed, sbom} {
		bundle, err := signer.Sign(stated)
		require.NoError(tb, err)
		push(tb, repo, ocispec.Manifest{
			ArtifactType: signature.BundleType,
			Config:       blob(tb, repo, ocispec.MediaTypeEmptyJSON, []byte("{}")),
			Layers:       []ocispec.Descriptor{blob(tb, repo, signature.BundleType, bundle)},
			Subject:      &subject,
		})
	}
	return subject.Digest.String()
}

func blob(tb testing.TB, repo *remote.Repository, mediaType string, data []byte) ocispec.Descriptor {
	tb.Helper()
	d, err := oras.PushBytes(tb.Context(), repo, mediaType, data)
	require.NoError(tb, err)
	return d
}

func push(tb testing.TB, repo *remote.Repository, manifest ocispec.Manifest) ocispec.Descriptor {
	tb.Helper()
	manifest.SchemaVersion, manifest.MediaType = 2, ocispec.MediaTypeImageManifest
	data, err := json.Marshal(manifest)
	require.NoError(tb, err)
	d := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, data)
	require.NoError(tb, repo.Push(tb.Context(), d, bytes.NewReader(data)))
	return d
}

// slow has each answer of a registry come later, as a network does.
func slow(o *servers.OCI, latency time.Duration) {
	if latency == 0 {
		return
	}
	server := o.Server()
	o.Fault(servers.Always(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		server.ServeHTTP(w, r)
	})))
}

// TestEveryCopierCopies proves that the benchmarks compare the same work.
func TestEveryCopierCopies(t *testing.T) {
	for name, start := range registries() {
		from, to := start(t), start(t)
		digest := fixture(t, from.Host+"/shop")
		for _, set := range []struct {
			name      string
			copiers   []copier
			referrers int
		}{{"bare", bare(), 0}, {"whole", withReferrers(name, digest), 2}} {
			for _, c := range set.copiers {
				t.Run(name+" "+set.name+" "+c.name, func(t *testing.T) {
					at := to.Host + "/" + set.name + "/" + c.name
					requests := func(run func() error) int {
						from.Reset()
						to.Reset()
						require.NoError(t, run())
						return len(from.Requests()) + len(to.Requests())
					}
					n := requests(func() error { return c.copy(t.Context(), from.Host+"/shop", at) })
					if c.name == "ropewalk" {
						extended := requests(func() error { return orasCopy(t.Context(), from.Host+"/shop", at+"/oras", true) })
						require.LessOrEqual(t, n, extended)
					}
					require.Equal(t, set.referrers, referrersOf(t, at, digest))
				})
			}
		}
	}
}

// referrersOf is how many referrers the artifact with that digest has.
func referrersOf(t *testing.T, at, digest string) int {
	t.Helper()
	repo, err := repository(at)
	require.NoError(t, err)
	d, err := repo.Resolve(t.Context(), "v1")
	require.NoError(t, err)
	require.Equal(t, digest, d.Digest.String())
	found := 0
	require.NoError(t, repo.Referrers(t.Context(), d, "", func(r []ocispec.Descriptor) error {
		found += len(r)
		return nil
	}))
	return found
}

const debian = "docker-registry"

// registries are one with a referrers API, in this process, and one without.
func registries() map[string]func(tb testing.TB) *servers.OCI {
	return map[string]func(tb testing.TB) *servers.OCI{
		"in process": func(tb testing.TB) *servers.OCI { tb.Helper(); return servers.InProcess(tb) },
		debian:       func(tb testing.TB) *servers.OCI { tb.Helper(); return servers.Registry(tb) },
	}
}

// withReferrers are those who copy referrers between registries of a kind.
func withReferrers(kind, digest string) []copier {
	if kind == debian {
		return listed(digest)
	}
	return whole()
}

// BenchmarkCopyFresh copies to a repository that is empty each time.
func BenchmarkCopyFresh(b *testing.B) { benchmarkCopies(b, true) }

// BenchmarkCopyNoOp copies to a repository that has everything.
func BenchmarkCopyNoOp(b *testing.B) { benchmarkCopies(b, false) }

func benchmarkCopies(b *testing.B, fresh bool) {
	for _, kind := range []string{"in process", debian} {
		for _, latency := range []time.Duration{0, 5 * time.Millisecond} {
			run := func(name string, referrers bool) {
				b.Run(fmt.Sprintf("%s/%s/%s", name, kind, latency), func(b *testing.B) {
					from, to := registries()[kind](b), registries()[kind](b)
					copiers, digest := bare(), fixture(b, from.Host+"/shop")
					if referrers {
						copiers = withReferrers(kind, digest)
					}
					takeTurns(b, from, to, copiers, latency, fresh)
				})
			}
			run("artifact", false)
			run("with 2 referrers", true)
		}
	}
}

// takeTurns has the copiers take turns, so that what else the machine does hits
// all alike, and reports for each the milliseconds, the requests to both
// registries, and the time relative to oras: medians, because a busy machine
// stops now the one and now the other.
func takeTurns(b *testing.B, from, to *servers.OCI, copiers []copier, latency time.Duration, fresh bool) {
	at := func(c copier, turn int) string { return fmt.Sprintf("%s/%s/%d", to.Host, c.name, turn) }
	for _, c := range copiers { // connections are open then, and the no-op has its copy
		require.NoError(b, c.copy(b.Context(), from.Host+"/shop", at(c, 0)))
	}
	slow(from, latency)
	slow(to, latency)
	spent, asked, turn := map[string][]float64{}, map[string][]float64{}, 0
	for b.Loop() {
		turn++
		for i := range copiers {
			c := copiers[(turn+i)%len(copiers)]
			from.Reset()
			to.Reset()
			target := at(c, 0)
			if fresh {
				target = at(c, turn)
			}
			start := time.Now()
			if err := c.copy(b.Context(), from.Host+"/shop", target); err != nil {
				b.Fatal(err)
			}
			spent[c.name] = append(spent[c.name], time.Since(start).Seconds()*1000)
			asked[c.name] = append(asked[c.name], float64(len(from.Requests())+len(to.Requests())))
		}
	}
	for _, c := range copiers {
		b.ReportMetric(median(spent[c.name]), c.name+"-ms")
		b.ReportMetric(median(asked[c.name]), c.name+"-requests")
		b.ReportMetric(median(spent[c.name])/median(spent["oras"]), c.name+"/oras")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
