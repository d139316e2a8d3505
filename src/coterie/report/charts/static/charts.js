// Tooltips of figures: by mouse, finger and keyboard (arrows move from mark to mark). Without this script the browser
// shows the same words after a while, from each mark's <title>.
"use strict";
(() => {
  const marks = (svg) => [...svg.querySelectorAll("[data-tip]")].filter((one) => one.tagName !== "text");

  // A <title> would be shown a second time by the browser.
  function prepare(svg) {
    if (svg.dataset.ready) return;
    svg.dataset.ready = "yes";
    for (const title of svg.querySelectorAll("title")) {
      title.parentNode.dataset.tip = title.textContent;
      title.remove();
    }
    if (marks(svg).length) svg.tabIndex = 0;
  }

  function show(svg, mark) {
    const figure = svg.closest(".chart");
    let tip = figure.querySelector(".tip");
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.setAttribute("role", "status");
      figure.append(tip);
    }
    for (const other of figure.querySelectorAll(".here")) other.classList.remove("here");
    tip.textContent = mark ? mark.dataset.tip : "";
    pick(figure, mark?.closest(".series")?.dataset.series);
    if (!mark) return;
    mark.classList.add("here");
    const frame = figure.getBoundingClientRect(), at = mark.getBoundingClientRect();
    const room = frame.width - tip.offsetWidth;
    const x = at.left + at.width / 2 - frame.left - tip.offsetWidth / 2;
    const above = at.top - frame.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(0, Math.min(x, room))}px`;
    tip.style.top = `${at.top - tip.offsetHeight - 8 > 0 ? above : at.bottom - frame.top + 8}px`;
  }

  function pick(figure, series) {
    figure.classList.toggle("picked", Boolean(series));
    for (const one of figure.querySelectorAll("g.series")) one.classList.toggle("on", one.dataset.series === series);
  }

  // The mark under the pointer, or the nearest one within a finger's width.
  function nearest(svg, event) {
    const under = event.target.closest("[data-tip]");
    if (under) return under;
    let best = null, least = 22;
    for (const one of marks(svg)) {
      if (!one.matches(".mark")) continue;
      const box = one.getBoundingClientRect();
      const away = Math.hypot(event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2);
      if (away < least) [best, least] = [one, away];
    }
    return best;
  }

  function picture(event) {
    return event.target.closest?.(".chart .panels svg");
  }

  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, (event) => {
    const svg = picture(event);
    if (svg) { prepare(svg); show(svg, nearest(svg, event)); }
  });
  document.addEventListener("pointerout", (event) => {
    const svg = picture(event);
    if (svg && !svg.contains(event.relatedTarget)) show(svg, null);
  });
  document.addEventListener("pointerover", (event) => {
    const entry = event.target.closest?.(".chart .legend li");
    if (entry?.dataset.series) pick(entry.closest(".chart"), entry.dataset.series);
  });
  document.addEventListener("pointerout", (event) => {
    const entry = event.target.closest?.(".chart .legend li");
    if (entry) pick(entry.closest(".chart"), null);
  });
  document.addEventListener("keydown", (event) => {
    const svg = picture(event);
    if (!svg) return;
    const all = marks(svg), now = all.findIndex((one) => one.classList.contains("here"));
    const next = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape") show(svg, null);
    if (next === undefined || !all.length) return;
    event.preventDefault();
    show(svg, all[Math.max(0, Math.min(next, all.length - 1))]);
  });
  document.addEventListener("focusout", (event) => { const svg = picture(event); if (svg) show(svg, null); });
  // Pictures can be reached by keyboard from the start, also those that a page puts in place later.
  const ready = () => document.querySelectorAll(".chart .panels svg").forEach(prepare);
  ready();
  new MutationObserver(ready).observe(document.body, { childList: true, subtree: true });
})();
