
// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// The page is built from the data in it, and what is long only once it is looked at. Text
// of others is set as text and never as markup; what would hide or turn it is shown as an
// escape.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const signs = { created: "+", changed: "~", recreated: "!", moved: ">", deleted: "−", present: "·" };
  const worst = ["deleted", "recreated", "changed", "created", "moved", "present"];
  const grave = ["data-loss", "recreate", "deleted", "unreachable", "stopped", "crd", "secret"];

  // h makes an element; attributes with a function are listeners.
  function h(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") e.addEventListener(name, value);
      else if (name === "title" || name === "aria-label") e.setAttribute(name, plain(value ?? ""));
      else if (value === true) e.setAttribute(name, "");
      else if (value !== false && value != null) e.setAttribute(name, value);
    }
    e.append(...children.flat(9).filter((c) => c != null && c !== false && c !== ""));
    return e;
  }

  // What is neither a letter, a mark, a number, a sign nor a space is shown as an escape,
  // as the command line shows it.
  const hidden = /[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]/u;
  const hiddenAll = new RegExp(hidden.source, "gu");
  function escaped(c) {
    const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[c];
    const code = c.codePointAt(0);
    return short || (code < 128 ? "\\x" + code.toString(16).padStart(2, "0") : code < 65536 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0"));
  }
  const plain = (text) => String(text).replace(hiddenAll, escaped);
  function safe(text) {
    text = String(text);
    if (!hidden.test(text)) return [text];
    const out = [];
    let at = 0;
    for (const m of text.matchAll(hiddenAll)) {
      out.push(text.slice(at, m.index), h("span", { class: "escaped" }, escaped(m[0])));
      at = m.index + m[0].length;
    }
    return [...out, text.slice(at)];
  }
  // foreign is text that others wrote: it keeps its direction to itself.
  const foreign = (text, name) => h("bdi", { class: "foreign" + (name ? " " + name : "") }, safe(text));
  const number = (n) => n.toLocaleString("en");
  const plural = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");
  const sign = (kind) => h("span", { class: "sign " + kind, title: kind, role: "img", "aria-label": kind }, signs[kind]);
  const state = (text) => h("span", { class: "state " + text }, text);
  const title = (e) => e.project + (e.name ? " " + e.name : "");

  // position is a line of a file, as a link where the page knows where the repository is.
  function position(at, name) {
    if (!at) return null;
    const m = /^(.+?)(?::(\d+))?(?::\d+)?$/.exec(at);
    const local = m && !/^[-/]|:|(^|\/)\.\.?(\/|$)/.test(m[1]);
    if (!data.source || !local) return foreign(at, name);
    const url = data.source + m[1].split("/").map(encodeURIComponent).join("/") + "#L" + (m[2] || 1);
    return h("a", { class: "foreign " + (name || ""), href: url, rel: "noopener noreferrer", target: "_blank" }, safe(at));
  }

  function section(id, text, note, ...children) {
    const s = h("section", { id, "aria-labelledby": id + "-title" },
      h("div", { class: "head" }, h("h2", { id: id + "-title" }, text), note && h("span", { class: "muted" }, note)), ...children);
    main.append(s);
    return s;
  }

  // ---- head

  const revision = (r) => [foreign(r.name), r.commit && !r.commit.startsWith(r.name) ? h("span", { class: "muted" }, r.tip ? " at the merge base " : " ", r.commit.slice(0, 10)) : null];
  document.getElementById("refs").append(...revision(data.base).filter(Boolean), " → ", ...revision(data.head).filter(Boolean));
  for (const id of ["lead"]) {
    const e = document.getElementById(id);
    e.replaceChildren(...safe(e.textContent));
  }
  document.querySelector("h1").replaceChildren(foreign(document.querySelector("h1").textContent));

  const themes = ["auto", "light", "dark"];
  const themeButton = document.getElementById("theme");
  function setTheme(name) {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    themeButton.textContent = "Theme: " + name;
    try { localStorage.setItem("ropewalk-theme", name); } catch { /* pages on disk may have none */ }
  }
  let theme = "auto";
  try { theme = localStorage.getItem("ropewalk-theme") || "auto"; } catch { /* as above */ }
  setTheme(themes.includes(theme) ? theme : "auto");
  const nextTheme = () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme || "auto") + 1) % 3]);
  themeButton.addEventListener("click", nextTheme);

  if (data.notes) main.append(h("div", { class: "note" }, data.notes.map((n) => h("p", null, safe(n)))));
  const broken = data.environments.flatMap((e) => (e.findings || []).filter((f) => f.side === "head" && f.severity === "error").map((f) => [e, f]));
  if (broken.length > 0) {
    main.append(h("div", { class: "note bad", id: "problems" }, broken.slice(0, 50).map(([e, f]) =>
      h("p", null, h("b", null, safe(title(e))), ": ", finding(f))), broken.length > 50 && h("p", null, plural(broken.length - 50, "more error"))));
  }

  const c = data.counts;
  const tile = (kind, n, label, click) => n > 0 && (click ? h("button", { class: "tile " + kind, type: "button", click }, h("b", null, number(n)), h("span", null, label)) : h("div", { class: "tile " + kind }, h("b", null, number(n)), h("span", null, label)));
  const tiles = [
    tile("danger", c.dangers, c.dangers === 1 ? "danger" : "dangers", () => document.getElementById("dangers").scrollIntoView()),
    ...["deleted", "recreated", "changed", "created", "moved", "present"].map((k) => tile(k, c[k], k, () => { reset(); filter.kinds.add(k); refresh(); show(); })),
    tile("violation", c.violations, c.violations === 1 ? "new violation" : "new violations", () => document.getElementById("findings").scrollIntoView()),
  ].filter(Boolean);
  if (tiles.length > 0) main.append(h("div", { class: "tiles" }, tiles));

  // ---- dangers

  const dangers = new Map();
  data.objects.forEach((o, row) => o.variants.forEach((v) => (v.dangers || []).forEach((d) => {
    if (!dangers.has(d.code)) dangers.set(d.code, []);
    dangers.get(d.code).push({ row, o, v, d });
  })));
  const rendered = data.environments.filter((e) => e.state !== "unaffected");
  const unaffected = data.environments.filter((e) => e.state === "unaffected");
  const inEnvironments = (v) => rendered.length > 1 && h("span", { class: "muted" }, " in ", safe(names(v.environments)));
  function names(list, most = 4) {
    const all = list.map((i) => label(data.environments[i]));
    return all.length > most ? all.slice(0, most - 1).join(", ") + " and " + (all.length - most + 1) + " more" : all.join(", ");
  }
  // A repository of Argo CD or Flux has units, and projects have environments.
  const noun = data.environments.every((e) => e.unit) ? "unit" : "environment";
  const Noun = noun === "unit" ? "Unit" : "Environment";
  const projects = new Set(rendered.map((e) => e.path)).size;
  const label = (e) => (projects > 1 || !e.name ? title(e) : e.name);
  const jumper = (row, text) => h("button", { class: "jump", type: "button", click: () => jump(row) }, foreign(text));
  const reference = (v) => v.object.kind + " " + (v.object.namespace && !v.namespaces ? v.object.namespace + "/" : "") + v.object.name;
  if (dangers.size > 0) {
    const codes = [...dangers.keys()].sort((a, b) => data.order.indexOf(a) - data.order.indexOf(b));
    section("dangers", plural(c.dangers, "danger"), "what a reviewer must not miss", codes.map((code) => {
      const items = dangers.get(code);
      const item = (x) => h("li", null, jumper(x.row, reference(x.v)), inEnvironments(x.v), h("div", null, safe(x.d.message)));
      return h("div", { class: "danger-group" + (grave.includes(code) ? " bad" : "") },
        h("h3", null, data.titles[code] || code, h("span", { class: "count" }, items.length)),
        h("ul", null, items.slice(0, 8).map(item)), later(items.slice(8), (rest) => h("ul", null, rest.map(item))));
    }));
  }
  const omitted = (n, noun) => n > 0 && h("p", { class: "note" }, n + " more " + noun + (n === 1 ? "" : "s"), n === 1 ? " is" : " are", " not in this page, which would be too large: report.json has all of them.");
  // later is what is built when it is unfolded.
  function later(rest, build) {
    if (rest.length === 0) return null;
    const d = h("details", null, h("summary", null, rest.length + " more"));
    d.unfold = () => { if (d.children.length === 1) d.append(build(rest.slice(0, 500)), rest.length > 500 ? h("p", { class: "muted" }, "and ", rest.length - 500, " more: see the objects") : ""); };
    d.addEventListener("toggle", () => d.open && d.unfold());
    return d;
  }

  // ---- environments

  const cores = (n) => (n / 1000).toLocaleString("en", { maximumFractionDigits: 3 });
  const memory = (n) => (n >= 1 << 30 ? (n / (1 << 30)).toLocaleString("en", { maximumFractionDigits: 2 }) + " GiB" : (n / (1 << 20)).toLocaleString("en", { maximumFractionDigits: 1 }) + " MiB");
  function figure(e, of, text, better) {
    const [b, a] = e.state === "failed" ? [] : [e.before && of(e.before), e.after && of(e.after)];
    if (b == null && a == null) return h("td", { class: "figure muted" }, "");
    if (b == null || a == null || b === a) return h("td", { class: "figure" }, text(a ?? b));
    return h("td", { class: "figure" }, h("span", { class: "muted" }, text(b), " → "), h("b", { class: better ? (a > b ? "up" : "down") : "" }, text(a)));
  }
  if (data.environments.length > 0) {
    const line = (e) => h("tr", null, h("td", null, foreign(label(e))), h("td", null, state(e.state)),
      h("td", null, ["deleted", "recreated", "changed", "created", "moved", "present"].filter((k) => e.counts[k]).map((k) => h("span", { class: "figure" }, sign(k), " ", number(e.counts[k]), "\u2003"))),
      figure(e, (o) => o.totals.objects, number), figure(e, (o) => o.waves, String),
      figure(e, (o) => o.totals.requests.milliCPU, cores, true), figure(e, (o) => o.totals.requests.memoryBytes, memory, true));
    const table = (list) => h("div", { class: "scroll" }, h("table", { class: "units" },
      h("thead", null, h("tr", null, [Noun, "", "Objects that differ"].map((t) => h("th", null, t)), ["Objects", "Waves", "CPU requested", "Memory requested"].map((t) => h("th", { class: "figure" }, t)))),
      h("tbody", null, list.map(line))));
    // Those in which nothing differs come last.
    const rows = [...rendered.filter((e) => e.state !== "unchanged"), ...rendered.filter((e) => e.state === "unchanged")];
    section("environments", Noun + "s", unaffected.length > 0 && plural(unaffected.length, noun) + " not affected, and not rendered",
      rendered.length > 0 && table(rows.slice(0, 12)), later(rows.slice(12), table), unaffected.length > 0 && h("p", { class: "muted legend" }, "Not affected: ", safe(names(unaffected.map((e) => data.environments.indexOf(e)), 12))));
  }

  // ---- waves

  const kindsOf = (environment) => {
    const out = new Map();
    for (const o of data.objects) for (const v of o.variants) if (v.environments.includes(environment) && v.node) out.set(v.node, v.change);
    return out;
  };
  const drawn = data.environments.map((e, i) => ({ e, i })).filter(({ e }) => e.state !== "unaffected" && (e.picture != null || e.after || e.before));
  if (drawn.length > 0) {
    const body = h("div");
    const size = ({ e }) => (e.counts.dangers || 0) * 1000 + ["deleted", "recreated", "changed", "created", "moved"].reduce((n, k) => n + (e.counts[k] || 0), 0);
    const first = drawn.reduce((most, d) => (size(d) > size(most) ? d : most)).i;
    const draw = (i) => {
      const e = data.environments[i], kinds = kindsOf(i);
      const path = (label, o) => o && h("div", { class: "path" }, h("span", { class: "muted" }, label), h("ol", null,
        o.path ? o.path.map((s) => h("li", null, h("span", { class: "step " + (kinds.get(s.node) || ""), title: s.reason }, foreign(s.node)))) : h("li", null, h("span", { class: "muted" }, "no object waits for another one"))));
      const same = JSON.stringify(e.before && e.before.path) === JSON.stringify(e.after && e.after.path);
      body.replaceChildren(h("div", { class: "paths" }, same ? path("Path to healthy", e.after) : [path("Before", e.before), path("After", e.after)]));
      const template = e.picture != null && document.getElementById("picture-" + e.picture);
      if (!template) {
        body.append(h("p", { class: "muted" }, data.left.pictures ? "There was no room for the picture of this " + noun + ": ropewalk graph draws it." : "There is no picture of this " + noun + "."));
        return;
      }
      const svg = template.content.firstElementChild.cloneNode(true);
      const marked = tame(svg, kinds);
      // A picture that is a little too wide is made smaller, and one that is much too wide is scrolled.
      const fits = Number(svg.getAttribute("width")) <= 1.6 * main.clientWidth;
      body.append(h("figure", null, h("div", { class: "picture" + (fits && main.clientWidth > 700 ? " fits" : ""), tabindex: 0, role: "group", "aria-label": "The waves of " + title(e) }, svg),
        h("figcaption", { class: "legend" }, worst.filter((k) => marked.has(k)).map((k) => h("span", null, sign(k), k)), h("span", null, "Waves are columns. A thick line waits until what it leads to is ready.", e.after && e.counts.deleted > 0 && !marked.has("deleted") && " What is deleted is not drawn."))));
    };
    const select = drawn.length > 1 && h("select", { "aria-label": Noun, change: (ev) => draw(Number(ev.target.value)) }, drawn.map(({ e, i }) => h("option", { value: i, selected: i === first }, plain(label(e)))));
    const s = section("waves", "Waves", "the order in which the engine applies, and the longest way to healthy", body);
    if (select) s.firstElementChild.append(h("span", { class: "right" }, select));
    draw(first);
  }
  // tame marks the boxes of a picture by what happens to their objects, the worst of it where
  // they are several, and shows what is
  // hidden in its text.
  function tame(svg, kinds) {
    const marked = new Set(), bySpec = new Map();
    for (const [node, kind] of kinds) {
      const spec = node.split("/")[0];
      bySpec.set(spec, (bySpec.get(spec) || new Set()).add(kind));
    }
    const worstOf = (specs) => worst.find((k) => specs.some((s) => bySpec.get(s)?.has(k)));
    for (const t of svg.querySelectorAll("title, text, tspan")) {
      if (t.children.length > 0) continue;
      if (t.tagName === "title") {
        const specs = t.parentElement.dataset.specs;
        const kind = specs === undefined ? kinds.get(t.textContent.split("\n")[0]) : worstOf(specs.split("\n"));
        const box = t.parentElement.querySelector(".box");
        if (kind && box) { box.classList.add(kind); marked.add(kind); }
      }
      if (hidden.test(t.textContent)) t.textContent = t.textContent.replace(hiddenAll, (c) => (t.tagName === "title" && c === "\n" ? c : escaped(c)));
    }
    return marked;
  }

  // ---- objects

  const columns = [...new Set(rendered.map((e) => e.name))];
  const wide = columns.length > 1 && columns.length <= 6;
  const column = data.environments.map((e) => columns.indexOf(e.name));
  const filter = { text: "", kinds: new Set(), environment: "", kind: "", danger: false };
  const isDanger = (o) => o.variants.some((v) => v.dangers);
  const kindOf = (o) => worst.find((k) => o.variants.some((v) => v.change === k)) || "present";
  const list = h("div", { class: "list" });
  const shownCount = h("span", { class: "muted", role: "status" });
  const rows = data.objects.map((o, i) => ({ o, i, kind: kindOf(o), danger: isDanger(o), text: null, element: null }));
  // haystack is all that a search looks at.
  function haystack(r) {
    if (r.text === null) {
      r.text = [r.o.project, r.o.kind, r.o.name, r.o.node, ...r.o.variants.flatMap((v) => [reference(v), v.at, ...(v.dangers || []).map((d) => d.message),
        ...(v.fields || []).flatMap((f) => [f.path, f.before, f.after, f.from])])].join("\n").toLowerCase();
    }
    return r.text;
  }
  // It is made while nothing else is to be done, so that the first search is as fast as
  // all others.
  const idle = window.requestIdleCallback || ((f) => setTimeout(f, 50, { timeRemaining: () => 10 }));
  let prepared = 0;
  function prepare(left) {
    while (prepared < rows.length && left.timeRemaining() > 2) haystack(rows[prepared++]);
    if (prepared < rows.length) idle(prepare);
  }
  idle(prepare);
  let found = rows;
  let built = 0;
  let heads = "";
  const chunk = 40;
  const sentinel = h("div", { "aria-hidden": "true" });
  const matches = (r) => (filter.kinds.size === 0 || r.o.variants.some((v) => filter.kinds.has(v.change))) &&
    (!filter.danger || r.danger) && (!filter.kind || r.o.kind === filter.kind) &&
    (filter.environment === "" || r.o.variants.some((v) => v.environments.includes(Number(filter.environment)))) &&
    (!filter.text || filter.text.split(/\s+/).every((word) => haystack(r).includes(word)));

  function refresh() {
    found = rows.filter(matches);
    built = 0;
    heads = "";
    list.replaceChildren();
    if (wide) list.append(h("div", { class: "columns", "aria-hidden": "true" }, h("span"), h("span", null, "Object"), columns.map((n) => h("span", { class: "environment" }, foreign(n || "–"))), h("span", { class: "from" }, "From")));
    if (found.length === 0) list.append(h("div", { class: "empty" }, rows.length === 0 ? "No object differs." : "No object matches the filters."));
    more(chunk);
    shownCount.textContent = found.length === rows.length ? plural(rows.length, "object") : number(found.length) + " of " + plural(rows.length, "object");
    for (const b of document.querySelectorAll("[data-kind]")) b.setAttribute("aria-pressed", filter.kinds.has(b.dataset.kind));
    const d = document.getElementById("only-dangers");
    if (d) d.setAttribute("aria-pressed", filter.danger);
  }
  function more(n) {
    const part = document.createDocumentFragment();
    for (const end = Math.min(found.length, built + n); built < end; built++) {
      const r = found[built], spec = (r.o.node || "").split("/")[0];
      const head = r.o.project + "\n" + spec;
      if (head !== heads) {
        part.append(h("div", { class: "spec-head" }, foreign(spec || "no spec"), projects > 1 && h("span", { class: "muted" }, safe(r.o.project))));
        heads = head;
      }
      part.append(r.element || (r.element = row(r)));
    }
    list.append(part);
  }
  new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting) && built < found.length) more(chunk); }, { rootMargin: "900px" }).observe(sentinel);

  function row(r) {
    const { o } = r, first = o.variants[0];
    const all = o.variants.flatMap((v) => v.environments);
    const body = h("div", { class: "row-body", hidden: true });
    const cells = wide && columns.map((_, at) => {
      const v = o.variants.find((v) => v.environments.some((e) => column[e] === at && (data.environments[e].project === o.project)));
      return h("span", { class: "environment" }, v ? sign(v.change) : h("span", { class: "muted" }, "·"));
    });
    const dangerous = o.variants.reduce((n, v) => n + (v.dangers || []).length, 0);
    const button = h("button", { class: "row-head", type: "button", "aria-expanded": "false", click: () => toggle(r) },
      sign(r.kind),
      h("span", { class: "title" }, h("span", { class: "kind" }, safe(o.kind)), foreign(o.name, "name"),
        dangerous > 0 && h("span", { class: "warn" }, "▲ ", plural(dangerous, "danger")),
        columns.length > 1 && h("span", { class: "muted" + (wide ? " only-phone" : "") }, " ", safe(names(all, 3)))),
      cells, h("span", { class: "from" }, foreign(first.at || "")));
    return h("div", { class: "row" }, button, body);
  }
  function toggle(r, open) {
    const [button, body] = r.element.children;
    open ??= body.hidden;
    if (open && body.children.length === 0) body.append(...r.o.variants.map((v) => variant(r.o, v)));
    body.hidden = !open;
    button.setAttribute("aria-expanded", open);
  }
  function variant(o, v) {
    const ref = reference(v);
    return h("div", { class: "variant" },
      h("div", { class: "variant-head" }, h("span", { class: "state " + v.change }, v.change), foreign(ref, "mono"),
        rendered.length > 1 && [chips(v, 0, 16), later(v.environments.slice(16), () => h("div", { class: "variant-head" }, chips(v, 16, 500)))],
        v.wave && h("span", { class: "chip" }, "wave ", v.wave.before, " → ", v.wave.after), v.layer && h("span", { class: "chip foreign" }, safe("layer " + v.layer.before + " → " + v.layer.after)),
        v.node && h("span", { class: "muted" }, "node ", foreign(v.node)), v.at && h("span", null, v.change === "deleted" ? foreign(v.at, "mono") : position(v.at, "mono"))),
      (v.dangers || []).map((d) => h("div", { class: "warning" }, safe(d.message))),
      (v.fields || []).map(field),
      v.manifest ? h("div", { class: "field" }, lines(v.change === "deleted" ? v.manifest : null, v.change === "deleted" ? null : v.manifest)) : null,
      v.cut && h("p", { class: "muted field" }, "There was no room for ", v.cut === "fields" ? "its fields" : "its manifest", " in this page", v.cut === "fields" ? ": report.json has them." : "."));
  }
  const chips = (v, from, to) => v.environments.slice(from, to).map((e, i) => h("span", { class: "chip foreign", title: v.namespaces ? "namespace " + v.namespaces[from + i] : null }, safe(label(data.environments[e]))));
  function field(f) {
    const at = Math.max(f.path.lastIndexOf("."), f.path.lastIndexOf("]") === f.path.length - 1 ? f.path.lastIndexOf("[") - 1 : -1);
    const split = f.path.endsWith('"') ? f.path.lastIndexOf('."') : at;
    return h("div", { class: "field" },
      h("div", { class: "field-head" }, h("bdi", { class: "where foreign" }, safe(f.path.slice(0, split + 1)), h("b", null, safe(f.path.slice(split + 1)))),
        f.order && h("span", { class: "muted" }, "in another order"), f.immutable && h("span", { class: "fixed" }, "cannot be changed in place"), position(f.from, "from")),
      lines(f.before, f.after));
  }

  // lines are two texts as lines that go, come and stay; null is no text.
  function lines(before, after) {
    const out = h("div", { class: "lines", role: "group" });
    const a = before == null ? [] : before.split("\n"), b = after == null ? [] : after.split("\n");
    const steps = a.length === 1 && b.length === 1 ? [["del", a[0]], ["add", b[0]]] : difference(a, b);
    const near = steps.map((_, i) => steps.slice(Math.max(0, i - 3), i + 4).some(([kind]) => kind !== "same"));
    let skipped = 0;
    const flush = () => { if (skipped > 0) out.append(h("div", { class: "skipped" }, plural(skipped, "line"), " the same")); skipped = 0; };
    steps.forEach(([kind, text], i) => {
      if (!near[i]) { skipped++; return; }
      flush();
      const other = kind === "del" && steps[i + 1]?.[0] === "add" && steps[i - 1]?.[0] !== "del" && steps[i + 2]?.[0] !== "add" ? steps[i + 1][1]
        : kind === "add" && steps[i - 1]?.[0] === "del" && steps[i - 2]?.[0] !== "del" && steps[i + 1]?.[0] !== "add" ? steps[i - 1][1] : null;
      out.append(h("div", { class: kind }, h("bdi", null, other == null ? safe(text) : marked(text, other))));
    });
    flush();
    return out;
  }
  // marked is a line with the part marked in which it differs from another one.
  function marked(text, other) {
    let start = 0, end = 0;
    const most = Math.min(text.length, other.length);
    while (start < most && text[start] === other[start]) start++;
    while (end < most - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
    if (4 * (start + end) < text.length || start + end === text.length) return safe(text);
    return [...safe(text.slice(0, start)), h("mark", null, safe(text.slice(start, text.length - end))), ...safe(text.slice(text.length - end))];
  }
  // difference is the longest common subsequence of two lists of lines.
  function difference(a, b) {
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail), middle = [];
    if (x.length * y.length > 1e6) middle.push(...x.map((l) => ["del", l]), ...y.map((l) => ["add", l]));
    else {
      const w = y.length + 1, table = new Uint32Array((x.length + 1) * w);
      for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) table[i * w + j] = x[i] === y[j] ? table[(i + 1) * w + j + 1] + 1 : Math.max(table[(i + 1) * w + j], table[i * w + j + 1]);
      for (let i = 0, j = 0; i < x.length || j < y.length;) {
        if (i < x.length && j < y.length && x[i] === y[j]) { middle.push(["same", x[i]]); i++; j++; }
        else if (i < x.length && (j === y.length || table[(i + 1) * w + j] >= table[i * w + j + 1])) middle.push(["del", x[i++]]);
        else middle.push(["add", y[j++]]);
      }
    }
    return [...a.slice(0, head).map((l) => ["same", l]), ...middle, ...a.slice(a.length - tail).map((l) => ["same", l])];
  }

  function reset() {
    Object.assign(filter, { text: "", environment: "", kind: "", danger: false });
    filter.kinds.clear();
    search.value = "";
    for (const s of selects) s.value = "";
  }
  const show = () => document.getElementById("objects").scrollIntoView();
  function jump(i) {
    if (!found.includes(rows[i])) { reset(); refresh(); }
    const at = found.indexOf(rows[i]);
    if (at >= built) more(at - built + 10);
    toggle(rows[i], true);
    rows[i].element.scrollIntoView({ block: "center" });
    rows[i].element.firstElementChild.focus({ preventScroll: true });
  }

  const search = h("input", { type: "search", placeholder: "Search names, fields and values", "aria-label": "Search objects", spellcheck: "false", autocomplete: "off", input: (e) => { filter.text = e.target.value.trim().toLowerCase(); refresh(); } });
  const choice = (label, values, set) => values.length > 1 && h("select", { "aria-label": label, change: (e) => { set(e.target.value); refresh(); } }, h("option", { value: "" }, label), values.map(([value, text]) => h("option", { value }, plain(text))));
  const selects = [
    choice("All " + noun + "s", rendered.map((e) => [data.environments.indexOf(e), label(e)]), (v) => { filter.environment = v; }),
    choice("All kinds", [...new Set(data.objects.map((o) => o.kind))].sort().map((k) => [k, k]), (v) => { filter.kind = v; }),
  ].filter(Boolean);
  const kindButtons = worst.filter((k) => rows.some((r) => r.o.variants.some((v) => v.change === k)));
  section("objects", "Objects", shownCount, h("div", { class: "filters" }, search, selects,
    kindButtons.length > 1 && kindButtons.map((k) => h("button", { class: "quiet", type: "button", "data-kind": k, "aria-pressed": "false", click: () => { if (!filter.kinds.delete(k)) filter.kinds.add(k); refresh(); } }, signs[k], " ", k)),
    rows.some((r) => r.danger) && h("button", { class: "quiet", id: "only-dangers", type: "button", "aria-pressed": "false", click: () => { filter.danger = !filter.danger; refresh(); } }, "▲ dangers"),
    rows.length > 0 && h("button", { class: "quiet", type: "button", click: () => unfold() }, "Unfold")), list, sentinel,
    omitted(data.left.objects, "object"));
  if (wide) list.style.setProperty("--environments", columns.length);
  list.classList.toggle("wide", wide);
  refresh();
  function unfold() {
    const part = found.slice(0, built).filter((r) => r.element);
    const open = part.some((r) => r.element.children[1].hidden);
    for (const r of part) toggle(r, open);
  }

  // ---- images, findings

  if (data.images.length > 0) {
    const versions = (list) => (list.length === 0 ? h("span", { class: "muted" }, "–") : list.map((v) => h("div", null, foreign(v || "no tag", "mono"))));
    const line = (i) => h("tr", null, h("td", null, foreign(i.name, "mono")), h("td", null, versions(i.before)), h("td", null, versions(i.after)),
      h("td", null, i.after.some((v) => !v.includes("@")) ? h("span", { class: "muted" }, "by tag") : h("span", { class: "muted" }, i.after.length > 0 ? "by digest" : ""), i.major && h("b", null, " another major version")), rendered.length > 1 && h("td", null, safe(names(i.environments))));
    const table = (part) => h("div", { class: "scroll" }, h("table", { class: "wide" }, h("thead", null, h("tr", null, ["Image", "Before", "After", ""].map((t) => h("th", null, t)), rendered.length > 1 && h("th", null, Noun + "s"))), h("tbody", null, part.map(line))));
    section("images", "Images", plural(data.images.length, "image") + " in another version than before", table(data.images.slice(0, 40)), later(data.images.slice(40), table), omitted(data.left.images, "image"));
  }
  function finding(f) {
    return [f.policy && h("span", { class: "chip foreign" }, safe(f.policy)), f.policy && " ", f.node && foreign(f.node, "mono"), f.node && " ", safe(f.message), f.hint && h("span", { class: "muted" }, " ", safe(f.hint)), f.at && [" ", position(f.at, "mono")]];
  }
  const all = new Map();
  data.environments.forEach((e, i) => (e.findings || []).forEach((f) => {
    if (f.side === "head" && f.severity === "error") return;
    const key = JSON.stringify(f);
    if (!all.has(key)) all.set(key, { f, environments: [] });
    all.get(key).environments.push(i);
  }));
  if (all.size > 0) {
    const line = ({ f, environments }) => h("tr", null, h("td", null, h("span", { class: "severity " + (f.state === "gone" ? "gone" : f.severity) }, f.state === "gone" ? "gone" : f.severity)), h("td", null, h("span", { class: "muted" }, f.side === "base" ? "base" : f.state)), h("td", null, finding(f)), rendered.length > 1 && h("td", null, safe(names(environments))));
    const table = (part) => h("div", { class: "scroll" }, h("table", null, h("tbody", null, part.map(line))));
    const list = [...all.values()];
    section("findings", "Policies and checks", "new, known to the base, and gone", table(list.slice(0, 30)), later(list.slice(30), table), omitted(data.left.findings, "finding"));
  }

  main.append(h("footer", null, h("p", null, "Rendered by Ropewalk ", foreign(data.ropewalk), ". Nothing in this page is loaded from elsewhere; report.json beside it is the same as data."),
    h("p", { class: "keys" }, [["/", "search"], ["j", "next"], ["k", "previous"], ["Enter", "unfold"], ["t", "theme"]].flatMap(([key, what]) => [h("kbd", null, key), " " + what + "\u2003"]))));

  // ---- keyboard and print

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
    if (e.key === "Escape" && e.target === search) { search.blur(); return; }
    if (typing) return;
    if (e.key === "/") { e.preventDefault(); show(); search.focus(); }
    if (e.key === "t") nextTheme();
    if (e.key === "j" || e.key === "k") {
      const at = found.findIndex((r) => r.element && r.element.contains(document.activeElement));
      const next = Math.min(found.length - 1, Math.max(0, at + (e.key === "j" ? 1 : -1)));
      if (found.length === 0) return;
      if (next >= built) more(chunk);
      found[next].element.firstElementChild.focus();
    }
  });
  // On paper nothing can be unfolded: what is folded is printed, and a short list with its fields.
  window.addEventListener("beforeprint", () => {
    if (built < found.length) more(Math.min(found.length, 1000) - built);
    if (found.length <= 120) for (const r of found) toggle(r, true);
    for (const d of document.querySelectorAll("details")) { if (d.unfold) d.unfold(); d.open = true; }
    if (found.length > 1000) list.append(h("div", { class: "empty" }, "and ", found.length - 1000, " more"));
  });
})();
