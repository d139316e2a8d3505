// The dial shows another of the releases that stand on the page already: no question is asked, nothing is computed.
"use strict";
for (const dial of document.querySelectorAll("input[name=dial]")) {
  dial.addEventListener("change", () => {
    for (const offer of document.querySelectorAll(".offer")) offer.hidden = offer.dataset.epsilon !== dial.value;
    const place = dial.closest("th").cellIndex;
    for (const row of document.querySelectorAll(".dial tr")) [...row.cells].forEach((cell, at) => cell.classList.toggle("here", at === place));
  });
}
