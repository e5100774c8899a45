// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Search in all pages without a server, from a disk too: search-index.js is loaded when
// somebody begins to search, and holds the text of each section.
(() => {
  const root = document.querySelector('link[rel=stylesheet]').href.replace(/site\.css$/, '');
  const field = document.getElementById('search'), found = document.getElementById('found');
  let index = null;

  const load = () => {
    if (index) return;
    index = [];
    const script = document.createElement('script');
    script.src = root + 'search-index.js';
    script.onload = () => { index = window.searchIndex; show(); };
    document.head.append(script);
  };

  // How well a section has all words; 0 where one is missing.
  const score = (s, words) => {
    const title = (s.page + ' ' + s.title).toLowerCase(), text = s.text.toLowerCase();
    let sum = 0;
    for (const w of words) {
      const hits = text.split(w).length - 1;
      if (!title.includes(w) && !hits) return 0;
      sum += (title.includes(w) ? 20 : 0) + (s.title.toLowerCase().includes(w) ? 10 : 0) + Math.min(hits, 5);
    }
    return sum;
  };

  const excerpt = (text, words) => {
    const at = Math.max(0, Math.min(...words.map(w => text.toLowerCase().indexOf(w)).filter(i => i >= 0), text.length) - 40);
    const p = document.createElement('p');
    let rest = (at ? '…' : '') + text.slice(at, at + 140) + '…';
    for (;;) {
      const hits = words.map(w => [rest.toLowerCase().indexOf(w), w.length]).filter(([i]) => i >= 0).sort((a, b) => a[0] - b[0]);
      if (!hits.length) break;
      const [i, n] = hits[0], mark = document.createElement('mark');
      mark.textContent = rest.slice(i, i + n);
      p.append(rest.slice(0, i), mark);
      rest = rest.slice(i + n);
    }
    p.append(rest);
    return p;
  };

  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    found.hidden = !words.length;
    if (!words.length || !index.length) return;
    const best = index.map(s => [score(s, words), s]).filter(([n]) => n).sort((a, b) => b[0] - a[0]).slice(0, 12);
    for (const [, s] of best) {
      const item = document.createElement('li'), a = document.createElement('a'), b = document.createElement('b');
      a.href = root + s.url;
      b.textContent = s.title && s.title !== s.page ? s.page + ': ' + s.title : s.page;
      a.append(b, excerpt(s.text, words));
      item.append(a);
      found.append(item);
    }
    if (!best.length) found.append(Object.assign(document.createElement('li'), { textContent: 'Nothing has all of these words.' }));
  };

  field.hidden = false;
  field.addEventListener('focus', load);
  field.addEventListener('input', show);
  document.addEventListener('keydown', e => {
    const links = [...found.querySelectorAll('a')], at = links.indexOf(document.activeElement);
    if (e.key === '/' && document.activeElement !== field) { e.preventDefault(); field.focus(); }
    if (e.key === 'Escape') { field.value = ''; show(); field.blur(); }
    if (e.key === 'Enter' && document.activeElement === field && links.length) links[0].click();
    if (found.hidden || !['ArrowDown', 'ArrowUp'].includes(e.key)) return;
    e.preventDefault();
    (links[at + (e.key === 'ArrowDown' ? 1 : -1)] || field).focus();
  });
})();
