// Moving ε or k looks again by itself; figures are put in place without loading the page anew.
"use strict";
{
  const form = document.getElementById("look");
  const problem = document.getElementById("look-problem");

  for (const slider of form.querySelectorAll("input[type=range]")) {
    const field = document.getElementById(slider.dataset.for);
    const name = slider.dataset.for === "k" ? "k" : "ε";
    slider.addEventListener("input", () => {
      const value = 10 ** (slider.value / 100);
      field.value = name === "k" ? String(Math.min(Number(slider.dataset.most), Math.round(value))) : String(Number(value.toPrecision(2)));
      slider.setAttribute("aria-valuetext", `${name} = ${field.value}`);
      soon();
    });
    field.addEventListener("input", () => { if (Number(field.value) > 0) slider.value = 100 * Math.log10(Number(field.value)); });
  }

  let waiting, sending = false, again = false;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(send, 500); };
  form.addEventListener("change", soon);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });

  // One at a time: each answer brings the version that the next one has to name.
  async function send() {
    if (sending) { again = true; return; }
    sending = true;
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      put(new DOMParser().parseFromString(await answer.text(), "text/html"), ["preview", "promise"]);
    } finally {
      sending = false;
      if (again) { again = false; send(); }
    }
  }

  function put(fresh, parts) {
    if (!fresh.getElementById("look")) { location.reload(); return; }
    const told = fresh.querySelector("main > .problem");
    problem.hidden = !told;
    problem.textContent = told ? told.textContent.trim() : "";
    const open = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
    const version = fresh.querySelector("#look input[name=version]").value;
    for (const part of parts) {
      const here = document.getElementById(part);
      here.replaceChildren(...fresh.getElementById(part).childNodes);
      for (const section of here.querySelectorAll(".job")) if (["waiting", "running"].includes(section.dataset.state)) follow(section);
    }
    for (const field of document.querySelectorAll("input[name=version]")) field.value = version;
    for (const id of open) { const details = document.getElementById(id); if (details) details.open = true; }
    const codes = fresh.querySelectorAll(".equivalent code");
    document.querySelectorAll(".equivalent code").forEach((code, place) => { if (codes[place]) code.textContent = codes[place].textContent; });
  }

  document.addEventListener("ended", async (event) => {
    event.preventDefault();
    const part = event.target.closest("#compared") ? "compared" : "preview";
    const answer = await fetch(location.pathname);
    put(new DOMParser().parseFromString(await answer.text(), "text/html"), [part, "promise"]);
  });
}
