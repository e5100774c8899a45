// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/test/servers"
)

// copyFirst copies v1 with what is attached, as a process of its own does. It
// looks, because the first one of others may be there already.
func copyFirst(ctx context.Context, from artifact.Store, o *servers.OCI, to string) error {
	_, err := artifact.Copy(ctx, from, repository(o, to), "v1", artifact.CopyOptions{Referrers: true, Check: true, At: time.Now()})
	return err
}

// signed is a layout with a set that only one signer signed.
func signed(t *testing.T, set artifact.Set, signer *signature.Signer) *artifact.Layout {
	t.Helper()
	l := layout(t, t.TempDir())
	push(t, l, set, "v1")
	_, err := artifact.SignSet(t.Context(), l, "v1", signer)
	require.NoError(t, err)
	return l
}

// allVerify wants the set at a repository to have the signatures of all.
func allVerify(t *testing.T, o *servers.OCI, to string, verifiers []*signature.Verifier) {
	t.Helper()
	for i, verifier := range verifiers {
		_, err := artifact.VerifySet(t.Context(), repository(o, to), "v1", verifier)
		require.NoError(t, err, "%s, number %d", to, i)
	}
}

// tries is how often is tried what a stall of a busy machine may spoil, such as a list
// of tags that must come within 200 ms.
const tries = 10

// settled says whether somebody has settled a list of referrers, by the requests until
// now: who does not settle reads each list back once that it has written.
func settled(o *servers.OCI) bool {
	written, read := 0, 0
	for _, r := range o.Requests() {
		switch _, list, _ := strings.Cut(r.Path, "/manifests/sha256-"); {
		case list == "":
		case r.Method == http.MethodPut && r.Status == http.StatusCreated:
			written++
		case r.Method == http.MethodGet && r.Status == http.StatusOK:
			read++
		}
	}
	return written == 0 || read != written
}

// tagsAskedFor is how often tags were listed.
func tagsAskedFor(o *servers.OCI) int {
	return strings.Count(strings.Join(o.Lines(), "\n"), "/tags/list")
}

func TestACopyThatIsAloneDoesNotWait(t *testing.T) {
	signer, verifier, _, _ := keys(t)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			from := signed(t, layered(t, "a", "b", ""), signer)
			for i := range tries {
				to, waited := fmt.Sprintf("to%d", i), false
				o.Reset()
				_, err := artifact.Copy(t.Context(), from, repository(o, to), "v1",
					artifact.CopyOptions{Referrers: true, Check: true, At: time.Now(), Waiting: func() { waited = true }})
				require.NoError(t, err)
				slow, tags := settled(o), tagsAskedFor(o)
				require.Equal(t, waited, slow, "it says so")
				require.LessOrEqual(t, tags, 1, "it asks once who else is there")
				allVerify(t, o, to, []*signature.Verifier{verifier})
				if !waited {
					require.Equal(t, 1, tags)
					return
				}
			}
			require.Fail(t, "it waits each time")
		})
	}
}

func TestACopyThatIsAloneDoesNotWaitWhereEachRequestTakesLong(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := signed(t, layered(t, "a", "b", ""), signer)
			o.Fault(func(*http.Request) (http.Handler, bool) { time.Sleep(50 * time.Millisecond); return nil, false })
			waited := 0
			for i := range tries {
				before := waited
				to := fmt.Sprintf("to%d", i)
				_, err := artifact.Copy(t.Context(), from, repository(o, to), "v1",
					artifact.CopyOptions{Referrers: true, At: time.Now(), Waiting: func() { waited++ }})
				require.NoError(t, err)
				allVerify(t, o, to, []*signature.Verifier{verifier})
				if waited == before {
					return
				}
			}
			require.Fail(t, "it waits each time")
		})
	}
}

// tagged are repositories with n tags that say nothing about who copies.
func tagged(t *testing.T, o *servers.OCI, n int) {
	t.Helper()
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size, _ := strconv.Atoi(r.URL.Query().Get("n"))
			first, _ := strconv.Atoi(r.URL.Query().Get("last"))
			size = min(cmp.Or(size, 100), 1000)
			var tags []string
			for i := first; i < min(first+size, n); i++ {
				tags = append(tags, fmt.Sprintf("%q", "t"+strconv.Itoa(i)))
			}
			if first+size < n {
				w.Header().Set("Link", fmt.Sprintf(`<%s?n=%d&last=%d>; rel="next"`, r.URL.Path, size, first+size))
			}
			_, _ = fmt.Fprintf(w, `{"name":"shop","tags":[%s]}`, strings.Join(tags, ","))
		}), strings.HasSuffix(r.URL.Path, "/tags/list")
	})
}

func TestAtMostThreePagesOfTagsAreAskedFor(t *testing.T) {
	t.Parallel()
	signer, _, _, _ := keys(t)
	from := signed(t, whole(t, "a", ""), signer)
	for name, tt := range map[string]struct {
		tags, pages int
		waits       bool
	}{
		"one page":                         {tags: 900, pages: 1},
		"three pages":                      {tags: 2900, pages: 3},
		"more than who is alone will read": {tags: 9000, pages: 3, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := servers.InProcess(t, servers.NoReferrers())
			tagged(t, o, tt.tags)
			for i := range tries {
				waited := false
				o.Reset()
				_, err := artifact.Copy(t.Context(), from, repository(o, fmt.Sprintf("to%d", i)), "v1",
					artifact.CopyOptions{Referrers: true, At: time.Now(), Waiting: func() { waited = true }})
				require.NoError(t, err)
				pages := tagsAskedFor(o)
				require.LessOrEqual(t, pages, tt.pages)
				require.True(t, waited || !tt.waits, "it cannot know that it is alone")
				if pages == tt.pages && waited == tt.waits {
					return
				}
			}
			require.Fail(t, "it reads fewer pages each time, or waits")
		})
	}
}

func TestTagsThatAreNotListedNowAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	from := signed(t, whole(t, "a", ""), signer)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			o := servers.InProcess(t, servers.NoReferrers())
			o.Fault(func(r *http.Request) (http.Handler, bool) {
				return servers.Answer(status, "UNKNOWN", "not now"), strings.HasSuffix(r.URL.Path, "/tags/list")
			})
			to := repository(o, "shop")
			to.Client = &auth.Client{Client: retry.NewClient()}
			_, err := artifact.Copy(t.Context(), from, to, "v1", artifact.CopyOptions{Referrers: true, At: time.Now()})
			require.NoError(t, err)
			require.Equal(t, 1, tagsAskedFor(o), "of a client that asks such a server again")
			allVerify(t, o, "shop", []*signature.Verifier{verifier})
		})
	}
}

func TestNothingIsLostOfManyFirstCopiesAtOnce(t *testing.T) {
	t.Parallel()
	const many = 5
	signers, verifiers := people(t, many)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				set := layered(t, fmt.Sprint(round), "b", "")
				to := fmt.Sprintf("to%d", round)
				var group errgroup.Group
				for _, signer := range signers {
					from := signed(t, set, signer)
					group.Go(func() error { return copyFirst(t.Context(), from, o, to) })
				}
				require.NoError(t, group.Wait())
				allVerify(t, o, to, verifiers)
			}
		})
	}
}

func TestNothingIsLostOfCopiesThatComeOneAfterAnotherAndSigners(t *testing.T) {
	t.Parallel()
	// How much later the second one starts, in steps through all that the first one
	// does; a signer signs as soon as there is a tag.
	signers, verifiers := people(t, 3)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps errgroup.Group
			steps.SetLimit(4)
			for step := range 4 * rounds {
				set := whole(t, fmt.Sprint(step), "")
				first, second := signed(t, set, signers[0]), signed(t, set, signers[1])
				to := fmt.Sprintf("to%d", step)
				steps.Go(func() error {
					var group errgroup.Group
					group.Go(func() error { return copyFirst(t.Context(), first, o, to) })
					group.Go(func() error { return signWhenThere(t.Context(), o, to, signers[2]) })
					time.Sleep(time.Duration(step) * 3 * time.Millisecond)
					group.Go(func() error { return copyFirst(t.Context(), second, o, to) })
					return group.Wait()
				})
			}
			require.NoError(t, steps.Wait())
			for step := range 4 * rounds {
				allVerify(t, o, fmt.Sprintf("to%d", step), verifiers)
			}
		})
	}
}

// signWhenThere signs v1 at the first moment in which it can be read.
func signWhenThere(ctx context.Context, o *servers.OCI, to string, signer *signature.Signer) error {
	for ctx.Err() == nil {
		if _, err := repository(o, to).Resolve(ctx, "v1"); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_, err := artifact.SignSet(ctx, repository(o, to), "v1", signer)
	return err
}

func TestACopyThatStallsBeforeItWritesItsListLosesNothingOfOthers(t *testing.T) {
	t.Parallel()
	signers, verifiers := people(t, 2)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := whole(t, "a", "")
			list := "/manifests/" + strings.Replace(set.Whole.Descriptor.Digest.String(), ":", "-", 1)
			// The first list that is written arrives when somebody who did not know of
			// it would be gone.
			var writes atomic.Int64
			stalls := make(chan struct{})
			o.Fault(func(r *http.Request) (http.Handler, bool) {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, list) && writes.Add(1) == 1 {
					close(stalls)
					time.Sleep(1200 * time.Millisecond)
				}
				return nil, false
			})
			first, second := signed(t, set, signers[0]), signed(t, set, signers[1])
			var group errgroup.Group
			group.Go(func() error { return copyFirst(t.Context(), first, o, "to") })
			<-stalls
			group.Go(func() error { return copyFirst(t.Context(), second, o, "to") })
			require.NoError(t, group.Wait())
			allVerify(t, o, "to", verifiers)
		})
	}
}

func TestACopySettlesWhereSomebodyElseIsOrMayBe(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	other, _, _, _ := keys(t)
	set := whole(t, "a", "")
	for name, tt := range map[string]struct {
		before func(t *testing.T, o *servers.OCI)
		at     time.Time
	}{
		"a time that others may have too": {at: at},
		"no time":                         {},
		"somebody has pushed it under another tag": {
			before: func(t *testing.T, o *servers.OCI) { push(t, repository(o, "shop"), set, "other") }, at: time.Now(),
		},
		"somebody has signed it": {
			before: func(t *testing.T, o *servers.OCI) {
				push(t, repository(o, "shop"), set, "other")
				_, err := artifact.SignSet(t.Context(), repository(o, "shop"), "other", other)
				require.NoError(t, err)
			}, at: time.Now(),
		},
		"the registry does not list tags": {
			before: func(_ *testing.T, o *servers.OCI) {
				o.Fault(func(r *http.Request) (http.Handler, bool) {
					return servers.Answer(http.StatusForbidden, "DENIED", "no list"), strings.HasSuffix(r.URL.Path, "/tags/list")
				})
			}, at: time.Now(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := servers.InProcess(t, servers.NoReferrers())
			if tt.before != nil {
				tt.before(t, o)
			}
			from := signed(t, set, signer)
			start := time.Now()
			_, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", artifact.CopyOptions{Referrers: true, At: tt.at})
			require.NoError(t, err)
			require.Greater(t, time.Since(start), 1200*time.Millisecond, "a turn, and two looks")
			allVerify(t, o, "shop", []*signature.Verifier{verifier})
		})
	}
}

func TestACopyThatIsLateAddsToTheListThatOthersHaveWrittenSince(t *testing.T) {
	t.Parallel()
	signers, verifiers := people(t, 2)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := whole(t, "a", "")
			first, second := signed(t, set, signers[0]), signed(t, set, signers[1])
			// After it saw that nobody else is there, its referrer takes so long that
			// somebody comes and is done.
			var attached atomic.Int64
			stalls := make(chan struct{})
			o.Fault(func(r *http.Request) (http.Handler, bool) {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if attached.Add(1) == 1 {
						time.Sleep(100 * time.Millisecond) // the tags are listed meanwhile
						close(stalls)
						time.Sleep(3 * time.Second)
					}
					o.Server().ServeHTTP(w, r)
				}), r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256:")
			})
			var group errgroup.Group
			group.Go(func() error { return copyFirst(t.Context(), first, o, "to") })
			<-stalls
			start := time.Now()
			require.NoError(t, copyFirst(t.Context(), second, o, "to"))
			t.Logf("the second took %s", time.Since(start))
			require.NoError(t, group.Wait())
			allVerify(t, o, "to", verifiers)
		})
	}
}
