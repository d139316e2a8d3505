// The statistics' desk: it moves shares and errors while a slider is dragged.
"use strict";

// Fields that a kind of statistic or an equation does not have are put away.
function choosing(select, name) {
  if (!select) return;
  const parts = document.querySelectorAll(`[data-${name}]`);
  const choose = () => {
    for (const part of parts) part.hidden = !part.dataset[name].split(" ").includes(select.value);
  };
  select.addEventListener("change", choose);
  choose();
}
choosing(document.getElementById("kind"), "kinds");
choosing(document.getElementById("ready"), "ready");
choosing(document.getElementById("unit"), "unit");

readInto("specification-file", "text");

for (const form of document.querySelectorAll("form.once")) {
  form.addEventListener("submit", () => { form.classList.add("saving"); });
}

const desk = document.getElementById("splitting");
if (desk) {
  const shares = [...desk.querySelectorAll(".share")];
  const problem = document.getElementById("move-problem");
  let waiting = null, busy = false;  // one question at a time; of those that wait, the last

  const ask = (share, value, dragged) => {
    waiting = { share, value, dragged };
    if (!busy) send();
  };

  async function send() {
    const { share, value, dragged } = waiting;
    waiting = null;
    busy = true;
    const body = new URLSearchParams({ name: share.dataset.name, value, dragged: dragged ? "yes" : "no" });
    body.set("version", desk.querySelector("input[name=version]").value);
    for (const box of desk.querySelectorAll("input[name=locked]:checked")) body.append("locked", box.value);
    try {
      const answer = await fetch(desk.dataset.move, { method: "POST", body });
      const told = await answer.json();
      if (answer.ok) show(told, dragged ? share : null);
      else tell(`${told.problem} ${told.advice}`);
    } catch {
      tell(NO_ANSWER);
    }
    busy = false;
    if (waiting) send();
  }

  function tell(text) {
    problem.textContent = text;
    problem.hidden = false;
  }

  function show(told, held) {
    problem.hidden = true;
    setVersion(told.version);
    told.shares.forEach((share, index) => {
      const row = shares[index], slider = row.querySelector("input[type=range]");
      if (row !== held || waiting === null) slider.value = share.value;
      slider.setAttribute("aria-valuetext", `${told.unit} ${share.shown}`);
      const typed = row.querySelector("input[type=text]");
      if (typed !== document.activeElement || row !== held) typed.value = share.budget;
    });
    document.getElementById("used").textContent = told.used_shown;
    document.getElementById("score").textContent = told.score_words;
    document.querySelectorAll(".equivalent code").forEach((code, index) => { code.textContent = told.equivalent[index]; });
    const rows = new Map([...document.querySelectorAll("#errors tbody tr")].map((row) => [row.dataset.name, row]));
    told.errors.forEach((error) => {
      const row = rows.get(error.name), cells = row.querySelectorAll("td.number");
      row.querySelector("meter").value = error.bar;
      row.querySelector(".times").textContent = `× ${error.times}`;
      [error.mean, error.median, error.p95].forEach((text, place) => { cells[place].textContent = text; });
      row.querySelector(".meets").textContent = error.tolerance ? `${error.tolerance} ${error.meets ? "✓ kept" : "✗ missed"}` : "–";
    });
  }

  for (const share of shares) {
    const slider = share.querySelector("input[type=range]"), typed = share.querySelector("input[type=text]");
    slider.addEventListener("input", () => ask(share, slider.value, true));
    typed.addEventListener("change", () => ask(share, typed.value, false));
    typed.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); ask(share, typed.value, false); }
    });
  }
}
