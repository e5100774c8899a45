// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/source/cache"
)

// kindPlan is that of plans in the cache on disk.
const kindPlan = "plan"

// plans remembers what is delivered, so that a step of a delivery asks no store, and
// neither does a restart. What is forgotten is read again.
type plans struct {
	kept *lru.Cache[string, delivery.Desired]
	// disk may be nil, and so may be what it gives.
	disk   func() (*cache.Store, error)
	report func(error)
}

func (p *plans) get(ctx context.Context, uid types.UID, digest string) (out delivery.Desired, ok bool) {
	key := string(uid) + "@" + digest
	if out, ok = p.kept.Get(key); ok {
		return out, true
	}
	store := p.store()
	if store == nil {
		return out, false
	}
	data, ok, err := store.Get(ctx, kindPlan, key)
	if p.failed(err); !ok || json.Unmarshal(data, &out) != nil || out.Digest != digest {
		return delivery.Desired{}, false
	}
	p.kept.Put(key, out, 2*int64(len(data)))
	return out, true
}

func (p *plans) put(ctx context.Context, uid types.UID, d delivery.Desired) {
	data, err := json.Marshal(d)
	if err != nil {
		return
	}
	key := string(uid) + "@" + d.Digest
	p.kept.Put(key, d, 2*int64(len(data)))
	if store := p.store(); store != nil {
		p.failed(store.Put(ctx, kindPlan, key, data))
	}
}

func (p *plans) store() *cache.Store {
	if p.disk == nil {
		return nil
	}
	store, err := p.disk()
	p.failed(err)
	return store
}

func (p *plans) failed(err error) {
	if err != nil && p.report != nil {
		p.report(err)
	}
}

// attempts are when the modules of a Transform were looked for last, and which
// render failed. It is lost with the process, which costs a render each.
type attempts struct {
	mu    sync.Mutex
	byUID map[types.UID]lastAttempt
	// lost are Transforms whose artifacts are gone.
	lost map[types.NamespacedName]bool
}

// lose says that the artifact of a Transform is gone.
func (v *attempts) lose(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost == nil {
		v.lost = map[types.NamespacedName]bool{}
	}
	v.lost[name] = true
}

// wasLost reports whether the artifact of a Transform was lost.
func (v *attempts) wasLost(name types.NamespacedName) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lost[name]
}

// found says that the artifact of a Transform is there: it was published again.
func (v *attempts) found(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.lost, name)
}

type lastAttempt struct {
	at time.Time
	// key is that of what could not be rendered, and err why.
	key string
	err error
}

// since is how long ago a Transform was visited. One that this process never saw
// counts from now on: a restart must not look for the modules of all.
func (v *attempts) since(uid types.UID, now time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	seen, ok := v.byUID[uid]
	if !ok {
		v.put(uid, lastAttempt{at: now})
		return 0
	}
	return now.Sub(seen.at)
}

// done records that the modules of a Transform were looked for: err is what came of
// it, for what has this key.
func (v *attempts) done(uid types.UID, now time.Time, key string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.put(uid, lastAttempt{at: now, key: key, err: err})
}

// failed is why what has this key could not be rendered; nil where it was not tried, or
// could be.
func (v *attempts) failed(uid types.UID, key string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if seen := v.byUID[uid]; seen.key == key {
		return seen.err
	}
	return nil
}

func (v *attempts) forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.byUID, uid)
}

func (v *attempts) put(uid types.UID, seen lastAttempt) {
	if v.byUID == nil {
		v.byUID = map[types.UID]lastAttempt{}
	}
	v.byUID[uid] = seen
}
