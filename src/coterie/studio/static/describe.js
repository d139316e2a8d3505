// Describe: show the fields that fit the type and the role, filter long lists, bring files in. Saving works without it.
"use strict";

const RANGED = ["continuous", "integer", "date", "timestamp"];
const LABELLED = ["categorical", "ordinal"];
const rows = [...document.querySelectorAll(".attribute")];

function fit(row) {
  const of = (entry) => row.querySelector(`select[name$=".${entry}"]`).value;
  const role = of("role"), type = of("type"), used = role !== "identifier", open = role === "protect" || role === "weight";
  const ranged = open && RANGED.includes(type), labelled = open && LABELLED.includes(type);
  const fits = {
    type: used, range: ranged, labels: labelled, dropped: !used, because: ranged || labelled,
    taxonomy: open && type === "categorical", suggest: open && (["continuous", "integer"].includes(type) || labelled),
    missing: used, impute: of("missing") === "impute", marks: used, outside: ranged,
    decimals: open && type === "continuous", order: open && type === "categorical", weight: open,
    recode: open && type !== "boolean", label: used, words: open && type !== "boolean", format: used,
    search: ranged, share: ranged && of("search") !== "",
  };
  for (const field of row.querySelectorAll("[data-entry]")) {
    if (field.dataset.entry in fits) field.hidden = !fits[field.dataset.entry];
  }
  row.querySelector(".more").hidden = !used;
}
for (const row of rows) {
  fit(row);
  row.addEventListener("change", () => fit(row));
}

const filter = document.getElementById("filter"), onlyOpen = document.getElementById("only-open"), all = document.getElementById("select-all");
function narrow() {
  const words = filter.value.trim().toLowerCase();
  for (const row of rows) row.hidden = !row.dataset.name.toLowerCase().includes(words) || (onlyOpen.checked && !row.dataset.open);
  const left = rows.filter((row) => !row.hidden).length;
  document.getElementById("shown-count").textContent = left < rows.length ? `${left} of ${rows.length} shown` : "";
  all.checked = false;
}
if (filter) {
  filter.addEventListener("input", narrow);
  filter.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  onlyOpen.addEventListener("change", narrow);
  all.addEventListener("change", () => {
    for (const row of rows) if (!row.hidden) row.querySelector("[name=selected]").checked = all.checked;
  });
  // What was changed is saved by itself; what cannot be saved yet is told and stays as it was typed.
  const form = document.getElementById("description"), told = document.getElementById("unsaved");
  const quiet = ["selected", "bulk_to", "bulk_because"];
  let waiting, pending = false, busy = 0, leaving = false, line = Promise.resolve();
  form.addEventListener("change", (event) => {
    if (!event.target.name || quiet.includes(event.target.name)) return;
    told.textContent = "Not saved yet.";
    pending = true;
    clearTimeout(waiting);
    waiting = setTimeout(save, 800);
  });
  // A button comes after what is being saved: two at once would each think that the other is another tab.
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;  // a script sends it
    clearTimeout(waiting);
    if (event.target === form) pending = false;  // it sends everything itself
    else if (pending) save();
    if (!busy) { leaving = true; return; }
    event.preventDefault();
    const by = event.submitter;
    line.then(() => event.target.requestSubmit(by));
  });
  window.addEventListener("pagehide", () => { if (pending && !leaving && !half()) navigator.sendBeacon(form.action, content()); });
  function content() {
    const sent = new URLSearchParams(new FormData(form));
    for (const name of quiet) sent.delete(name);
    return sent;
  }
  // What has the focus stays: who goes by keyboard would be thrown to the top of the page.
  const put = (here, other) => {
    if (!here.isEqualNode(other) && !here.contains(document.activeElement)) here.replaceWith(other);
  };
  // A range of which one end is written is still being written.
  const half = () => rows.some((row) => {
    const [lower, upper] = ["lower", "upper"].map((end) => row.querySelector(`input[name$=".${end}"]`).value.trim());
    return Boolean(lower) !== Boolean(upper);
  });
  function save() {
    if (half()) { told.textContent = "Not saved yet: a range needs both ends."; return; }
    pending = false;
    busy += 1;
    line = line.then(async () => {
      const fresh = await pageOf(await fetch(form.action, { method: "POST", body: content() }));
      const problem = fresh.querySelector("main > .problem[role=alert]");
      if (problem) { told.textContent = `Not saved: ${problem.textContent.trim()}`; return; }
      told.textContent = "Saved.";
      setVersion(fresh.querySelector("input[name=version]").value);
      for (const part of ["#states", ".done-so-far"]) put(document.querySelector(part), fresh.querySelector(part));
      for (const row of rows) {
        const other = fresh.getElementById(row.id);
        if (!other) continue;
        row.dataset.open = other.dataset.open;
        row.className = other.className;
        for (const part of [".state", ".hints", ".labels > summary"]) put(row.querySelector(part), other.querySelector(part));
      }
    }).catch(() => { told.textContent = `Not saved. ${NO_ANSWER}`; }).finally(() => { busy -= 1; });
  }
  readInto("schema-file", "yaml");
  document.getElementById("taxonomy-upload").addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target, file = form.querySelector("input").files[0], told = document.getElementById("taxonomy-told");
    try {
      const answer = await fetch(`${form.dataset.to}?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
      const found = await answer.json();
      told.className = answer.ok ? "good" : "problem";
      told.textContent = answer.ok ? `Added ${found.taxonomy} with ${found.labels} labels. Write this name at an attribute.` : `${found.problem} ${found.advice}`;
      if (answer.ok) document.getElementById("taxonomies").append(new Option("", found.taxonomy));
    } catch {
      told.className = "problem";
      told.textContent = NO_ANSWER;
    }
  });
}
