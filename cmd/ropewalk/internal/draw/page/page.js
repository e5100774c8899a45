
// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Boxes unfold to pictures that are in the page as templates. Text is set as text, never as
// markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const view = $("view"), path = $("path"), about = $("about"), search = $("search"), found = $("found"), status = $("status");
  const first = view.firstElementChild;
  const views = new Map([...document.querySelectorAll("template")].map((t) => [t.dataset.specs, t]));
  let trail = []; // what was unfolded: {key, name}

  function h(tag, text, click) {
    const e = document.createElement(tag);
    e.textContent = text;
    if (click) { e.type = "button"; e.addEventListener("click", click); }
    return e;
  }
  const titleOf = (g) => g.firstElementChild.textContent;
  const boxesOf = (svg) => [...svg.querySelectorAll("g")].filter((g) => g.querySelector(":scope > .box"));
  const linesOf = (svg) => [...svg.querySelectorAll("g")].filter((g) => g.querySelector(":scope > .line"));
  // edges are the sentences of a line: from → to: why.
  const edges = (texts) => texts.split("\n").map((text) => {
    const at = text.indexOf(" → "), end = text.indexOf(": ", at);
    return { text, from: text.slice(0, at), to: text.slice(at + 3, end < 0 ? undefined : end) };
  });

  function show(svg) {
    view.replaceChildren(svg);
    about.hidden = true;
    path.replaceChildren();
    if (trail.length > 0) path.append(h("button", "All specs", () => go([])));
    trail.forEach((step, i) => path.append(h("span", "›"), i === trail.length - 1 ? h("span", step.name) : h("button", step.name, () => go(trail.slice(0, i + 1)))));
    for (const g of boxesOf(svg)) {
      g.setAttribute("tabindex", 0);
      g.setAttribute("role", "button");
      g.setAttribute("aria-label", (g.dataset.specs === undefined ? "" : "Unfold ") + titleOf(g).split("\n").slice(0, 2).join(", "));
    }
  }
  function go(to) {
    trail = to;
    const key = trail.length === 0 ? null : trail[trail.length - 1].key;
    if (key === null) show(first);
    else if (views.has(key)) show(views.get(key).content.firstElementChild.cloneNode(true));
    else view.replaceChildren(h("p", "There was no room for this picture in the page: ropewalk graph --spec " + key.split("\n")[0] + " draws it."));
  }
  function press(g) {
    if (g.dataset.specs === undefined) { choose(g); return; }
    unfold(g);
  }
  function unfold(g) {
    go([...trail, { key: g.dataset.specs, name: titleOf(g).split("\n")[0] }]);
    view.querySelector("g[role=button]")?.focus();
  }

  // mark shows what a box is joined to, and nothing else.
  function mark(g) {
    const svg = g.closest("svg"), on = new Set([g.dataset.box]);
    svg.classList.add("dims");
    for (const l of linesOf(svg)) {
      const joined = l.dataset.joins.split(" "), from = joined.slice(1);
      const near = joined[0] === g.dataset.box ? joined : from.includes(g.dataset.box) ? [joined[0]] : [];
      l.classList.toggle("off", near.length === 0);
      for (const box of near) on.add(box);
    }
    for (const b of boxesOf(svg)) b.classList.toggle("off", !on.has(b.dataset.box));
  }
  function unmark() {
    const svg = view.querySelector("svg");
    svg?.classList.remove("dims");
    svg?.querySelectorAll(".off, .chosen").forEach((e) => e.classList.remove("off", "chosen"));
  }
  function choose(g) {
    unmark();
    g.classList.add("chosen");
    mark(g);
    const [id, ...rest] = titleOf(g).split("\n"), spec = id.split("/")[0];
    const all = [...linesOf(g.closest("svg")).map(titleOf), views.get(spec)?.dataset.edges || ""].flatMap(edges);
    const list = (name, side) => {
      const texts = [...new Set(all.filter((e) => e[side] === id || e[side] === spec).map((e) => e.text))];
      if (texts.length === 0) return;
      const ul = document.createElement("ul");
      ul.append(...texts.map((t) => h("li", t)));
      about.append(h("h3", name), ul);
    };
    about.replaceChildren(h("h2", id), ...rest.map((t) => h("p", t)));
    list("It and its spec wait for", "from");
    list("What waits for it or its spec", "to");
    about.append(h("button", "Close", () => { about.hidden = true; unmark(); g.focus(); }));
    about.hidden = false;
    g.scrollIntoView({ block: "center", inline: "center" });
  }

  view.addEventListener("click", (e) => { const g = e.target.closest("g[role=button]"); if (g) press(g); });
  view.addEventListener("keydown", (e) => {
    const g = e.target.closest("g[role=button]");
    if (g && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); press(g); }
  });
  const pointed = (e) => { const g = e.target.closest("g[role=button]"); if (about.hidden) { unmark(); if (g) mark(g); } };
  view.addEventListener("mouseover", pointed);
  view.addEventListener("focusin", pointed);
  view.addEventListener("mouseleave", () => { if (about.hidden) unmark(); });

  // ---- search

  let index = null;
  function prepare() {
    if (index) return index;
    index = [];
    const add = (svg, trail) => { for (const g of boxesOf(svg)) {
      if (g.dataset.specs !== undefined && g.dataset.specs.includes("\n")) continue;
      const [name, note] = titleOf(g).split("\n");
      index.push({ name, note, text: (name + " " + note).toLowerCase(), trail, spec: g.dataset.specs });
    } };
    add(first, []);
    for (const [key, t] of views) add(t.content, [{ key, name: key.includes("\n") ? key.split("\n").length + " specs" : key }]);
    const seen = new Set();
    index = index.filter((e) => !seen.has(e.name) && seen.add(e.name));
    return index;
  }
  function open(entry) {
    found.replaceChildren();
    status.textContent = "";
    search.value = "";
    if (entry.spec !== undefined) { go([{ key: entry.spec, name: entry.name }]); view.querySelector("g[role=button]")?.focus(); return; }
    go(entry.trail);
    const g = boxesOf(view).find((g) => titleOf(g).split("\n")[0] === entry.name);
    if (g) { choose(g); g.focus({ preventScroll: true }); }
  }
  search.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length === 0 ? [] : prepare().filter((e) => words.every((w) => e.text.includes(w)));
    found.replaceChildren(...hits.slice(0, 40).map((e) => {
      const li = document.createElement("li"), b = h("button", e.name, () => open(e));
      b.append(h("small", e.note || ""));
      li.append(b);
      return li;
    }));
    status.textContent = words.length === 0 || hits.length > 0 ? "" : "Nothing has all of these words.";
  });
  const results = () => [...found.querySelectorAll("button")];
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = results().indexOf(document.activeElement);
    if (e.key === "/" && e.target !== search) { e.preventDefault(); search.focus(); }
    else if (e.key === "Enter" && e.target === search) results()[0]?.click();
    else if ((e.key === "ArrowDown" || e.key === "ArrowUp") && results().length > 0 && (e.target === search || at >= 0)) {
      e.preventDefault();
      (results()[at + (e.key === "ArrowDown" ? 1 : -1)] || search).focus();
    } else if (e.key === "Escape") {
      if (found.children.length > 0) { found.replaceChildren(); search.value = ""; search.blur(); }
      else if (!about.hidden) { about.hidden = true; unmark(); }
      else if (trail.length > 0) go(trail.slice(0, -1));
    }
  });
  if (Number(view.dataset.left) > 0) document.querySelector("header p").append(", " + view.dataset.left + " of the specs without a picture of their objects");
  show(first);
})();
