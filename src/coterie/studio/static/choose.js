// Sliders move the exact fields; whatever changes, the studio is asked what follows from it.
"use strict";
{
  const form = document.getElementById("choice");

  // A slider over the logarithm and the field that counts.
  const pair = (slider, field, name, text) => {
    slider.addEventListener("input", () => {
      field.value = text(10 ** (slider.value / 100));
      slider.setAttribute("aria-valuetext", `${name} = ${field.value}`);
      soon();
    });
    const follow = () => {
      const number = Number(field.value);
      if (number > 0) slider.value = 100 * Math.log10(number);
      slider.setAttribute("aria-valuetext", `${name} = ${field.value}`);
    };
    field.addEventListener("input", follow);
    follow();
  };
  const most = Number(document.getElementById("k-slider").dataset.most);
  document.getElementById("k-slider").max = Math.ceil(100 * Math.log10(most));
  pair(document.getElementById("epsilon-slider"), document.getElementById("epsilon"), "ε", (value) => String(Number(value.toPrecision(2))));
  pair(document.getElementById("k-slider"), document.getElementById("k"), "k", (value) => String(Math.min(most, Math.round(value))));

  let waiting, asking;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 120); };

  async function refresh() {
    asking?.abort();
    asking = new AbortController();
    try {
      const answer = await fetch(`${form.dataset.live}?${new URLSearchParams(new FormData(form))}`, { signal: asking.signal });
      if (answer.ok) replaceParts(await pageOf(answer), ["summary", "cards", "ways"]);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  document.addEventListener("input", (event) => { if (event.target.form === form && event.target.name) soon(); });
}
