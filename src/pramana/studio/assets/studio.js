"use strict";
// What a page needs beyond htmx: files that are dropped, numbers beside sliders, boxes that tick all.

function said(words) {
  const place = document.getElementById("drop-said") || document.getElementById("said");
  if (place) place.textContent = words;
}

async function send(file, address) {
  said("Sending " + file.name + " ...");
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "X-Name": encodeURIComponent(file.name), "HX-Request": "true" },
      body: file,
    });
    const words = await answer.text();
    if (answer.ok && words === "/") {
      window.location.assign("/");
      return;
    }
    const page = new DOMParser().parseFromString(words, "text/html");
    said((page.body.textContent || "It was not taken.").trim());
  } catch {
    said("The studio does not answer. Is it still running?");
  }
}

function dropping(zone) {
  const address = zone.dataset.upload;
  for (const kind of ["dragenter", "dragover"]) {
    zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  }
  for (const kind of ["dragleave", "drop"]) {
    zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.remove("over"); });
  }
  zone.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0], address);
  });
  zone.querySelector("input[type=file]").addEventListener("change", (event) => {
    if (event.target.files.length) send(event.target.files[0], address);
  });
}

document.querySelectorAll("[data-upload]").forEach(dropping);
// A file that misses the zone must not make the browser leave the page and show it.
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => event.preventDefault());

// Sliders run by the logarithm between their ends; the number beside each is what counts.
function sliding(range) {
  const number = document.getElementById(range.dataset.number);
  const low = Math.log(Number(range.dataset.low)), high = Math.log(Number(range.dataset.high));
  const place = () => { range.value = String(Math.round(1000 * (Math.log(Number(number.value)) - low) / (high - low))); range.setAttribute("aria-valuetext", number.value); };
  range.addEventListener("input", () => {
    number.value = String(Number(Math.exp(low + (high - low) * Number(range.value) / 1000).toPrecision(2)));
    range.setAttribute("aria-valuetext", number.value);
    const letter = document.querySelector(`input[name=letter][value=${range.dataset.number === "delta" ? "central_epsilon" : range.dataset.number}]`);
    if (letter) letter.checked = true;
  });
  number.addEventListener("input", place);
  place();
}

document.querySelectorAll("[data-number]").forEach(sliding);

// Shares with their intervals, as wide as their numbers say; a page may have no style inside.
document.body.addEventListener("htmx:load", (event) => {
  for (const own of event.target.querySelectorAll(".range")) {
    for (const name of ["share", "low", "high"]) own.style.setProperty(`--${name}`, own.dataset[name]);
  }
});

// What is chosen is seen, also at the end of a long list or of a narrow menu.
document.querySelectorAll(".steps [aria-current], .files [aria-current]").forEach((own) => {
  const list = own.closest("ol, ul"), box = own.getBoundingClientRect(), room = list.getBoundingClientRect();
  if (box.right > room.right) list.scrollLeft += box.right - room.right + 16;
  if (box.bottom > room.bottom) list.scrollTop += box.bottom - room.bottom + 16;
});

// Whoever waits for a part of the page is told when nobody answers any more.
document.body.addEventListener("htmx:sendError", () => {
  if (document.getElementById("gone")) return;
  const note = document.createElement("div");
  note.id = "gone";
  note.className = "warning";
  note.setAttribute("role", "alert");
  note.textContent = "The studio does not answer. Is it still running?";
  document.getElementById("content").prepend(note);
});

// What was changed has a new number on the server: forms that were shown before send that one.
document.body.addEventListener("saved", (event) => {
  document.querySelectorAll("input[name=state]").forEach((own) => { own.value = event.detail.value; });
  document.querySelector("form[action='/undo'] button").disabled = false;
  document.querySelector("form[action='/redo'] button").disabled = true;
});

// A change that is on its way is waited for before a link leads away.
let saving = 0, leaving = null;
const saves = (event) => event.detail.requestConfig?.verb === "post" && event.detail.elt.matches("form[action='/columns/roles']");
document.body.addEventListener("change", (event) => { if (event.target.closest("form[action='/columns/roles']")) saving += 1; });
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (!saves(event)) return;
  saving = 0;
  if (leaving) window.location.assign(leaving);
});

// A form that is saved by a button is saved when any link leads away from it.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (saving) {
    event.preventDefault();
    leaving = link.href;
    return;
  }
  const form = document.querySelector("form[data-saved]");
  const changed = (own) => own.type === "checkbox" ? own.checked !== own.defaultChecked
    : own.options ? own.selectedIndex !== Math.max([...own.options].findIndex((option) => option.defaultSelected), 0)
      : own.defaultValue !== undefined && own.type !== "hidden" && own.value !== own.defaultValue;
  if (!form || ![...form.elements].some(changed)) return;
  event.preventDefault();
  const next = Object.assign(document.createElement("input"), { type: "hidden", name: "next", value: link.getAttribute("href") });
  form.append(next);
  form.submit();
});
