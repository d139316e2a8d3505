// Figures of another sample are put in place without loading the page anew.
"use strict";
{
  const form = document.getElementById("look");
  const problem = document.getElementById("look-problem");

  let waiting, queued = false, line = Promise.resolve();
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(send, 500); };
  form.addEventListener("change", soon);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });

  function send() {
    clearTimeout(waiting);
    if (queued) return;  // the one that waits will take the form as it stands then
    queued = true;
    ask(["preview", "promise"], () => {
      queued = false;
      return fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    });
  }

  // One after the other: an answer that overtakes a later one would show an older state, and name an older version.
  function ask(parts, request) {
    line = line.then(async () => {
      put(await pageOf(await request()), parts);
    }).catch(() => tell(NO_ANSWER));
  }

  function tell(words) {
    problem.hidden = !words;
    problem.textContent = words;
  }

  function put(fresh, parts) {
    if (!fresh.getElementById("look")) { location.reload(); return; }
    const told = fresh.querySelector("main > .problem");
    tell(told ? told.textContent.trim() : "");
    const version = fresh.querySelector("#look input[name=version]").value;
    replaceParts(fresh, parts);
    setVersion(version);
    const codes = fresh.querySelectorAll(".equivalent code");
    document.querySelectorAll(".equivalent code").forEach((code, place) => { if (codes[place]) code.textContent = codes[place].textContent; });
  }

  document.addEventListener("ended", (event) => {
    event.preventDefault();
    ask([event.target.closest("#compared") ? "compared" : "preview", "promise"], () => fetch(location.pathname + location.search));
  });
}
