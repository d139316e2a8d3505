// What every page needs. Each page works as plain forms; this adds progress, copying and the theme.
"use strict";

const NO_ANSWER = "The studio does not answer. Is it still running?";
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;

document.getElementById("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
});

document.addEventListener("click", async (event) => {  // on the document: pages replace parts of themselves
  const button = event.target.closest?.(".copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });
}

// One question opened closes the others; Escape closes it.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".help") && event.target.open) {
    for (const other of document.querySelectorAll(".help[open]")) if (other !== event.target) other.open = false;
  }
}, true);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const open of document.querySelectorAll(".help[open]")) open.open = false;
});

// An answer to a form is a page like any other: loading it again or coming back to it must not send the form again.
history.replaceState(history.state, "", location.href);

// A page that asks for a decision is never shown from the browser's memory: what it says may be over.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && document.querySelector("[data-fresh]")) location.reload();
});

function spoken(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

async function follow(section) {
  const before = section.dataset.state;
  while (section.isConnected) {
    let job;
    try {
      job = await (await fetch(section.dataset.job)).json();
    } catch {
      section.querySelector(".job-words").textContent = NO_ANSWER;
      await new Promise((done) => setTimeout(done, 2000));
      continue;
    }
    if (!["waiting", "running"].includes(job.state)) {
      // A page that can put the result in place says so by preventing the default.
      if (section.dispatchEvent(new CustomEvent("ended", { bubbles: true, cancelable: true }))) location.reload();
      return;
    }
    const bar = section.querySelector("progress");
    if (job.share === null) bar.removeAttribute("value"); else bar.value = job.share;
    if (job.words) section.querySelector(".job-words").textContent = job.words;
    const left = job.left === null ? "" : `, about ${spoken(job.left)} left`;
    section.querySelector(".job-time").textContent = before === "waiting" && job.state === "waiting" ? "waiting" : `${spoken(job.seconds)}${left}`;
    await new Promise((done) => setTimeout(done, 400));
  }
}
function followJobs(within) {
  for (const section of within.querySelectorAll(".job")) if (["waiting", "running"].includes(section.dataset.state)) follow(section);
}
followJobs(document);

// Parts of a page that was loaded anew, in the place of the same parts here. What is open stays open, and the focus stays.
function replaceParts(fresh, parts) {
  const focused = document.activeElement?.id;
  const open = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
  for (const part of parts) {
    const here = document.getElementById(part);
    here.replaceChildren(...fresh.getElementById(part).childNodes);
    followJobs(here);
  }
  for (const id of open) { const details = document.getElementById(id); if (details) details.open = true; }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function pageOf(answer) {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Every form of the page names the version that it shows.
function setVersion(version) {
  for (const field of document.querySelectorAll("input[name=version]")) field.value = version;
}

// The text of a file that somebody chooses, into a field.
function readInto(file, field) {
  document.getElementById(file)?.addEventListener("change", async (event) => {
    document.getElementById(field).value = await event.target.files[0].text();
  });
}

const upload = document.getElementById("upload");
if (upload) {
  for (const kind of ["dragover", "dragleave", "drop"]) upload.addEventListener(kind, (event) => {
    event.preventDefault();
    upload.classList.toggle("over", kind === "dragover");
    if (kind !== "drop" || !event.dataTransfer.files.length) return;
    upload.querySelector("input[type=file]").files = event.dataTransfer.files;
    upload.requestSubmit();
  });
}
if (upload) upload.addEventListener("submit", (event) => {
  event.preventDefault();
  const file = upload.querySelector("input[type=file]").files[0];
  const bar = document.getElementById("upload-progress"), problem = document.getElementById("upload-problem");
  const tell = (text) => { problem.textContent = text; problem.hidden = false; bar.hidden = true; };
  problem.hidden = true;
  if (file.size > Number(upload.dataset.largest)) {
    tell("The file is too large to upload. Give its path on this machine instead.");
    return;
  }
  const request = new XMLHttpRequest();
  request.open("POST", `/upload?name=${encodeURIComponent(file.name)}`);
  request.responseType = "json";
  bar.hidden = false;
  request.upload.addEventListener("progress", (sent) => { bar.value = sent.loaded / sent.total; });
  request.addEventListener("load", () => {
    if (request.status === 200) location.href = request.response.address;
    else tell(request.response ? `${request.response.problem} ${request.response.advice}` : "The upload was refused.");
  });
  request.addEventListener("error", () => tell(NO_ANSWER));
  request.send(file);
});
