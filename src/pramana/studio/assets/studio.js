"use strict";
// What a page needs beyond htmx: files that are dropped, numbers beside sliders, boxes that tick all.

function said(words) {
  const place = document.getElementById("drop-said") || document.getElementById("said");
  if (place) place.textContent = words;
}

function words(name) {
  return document.getElementById("said").dataset[name];
}

async function send(file, address) {
  said(words("sending") + " " + file.name + " ...");
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "X-Name": encodeURIComponent(file.name), "HX-Request": "true" },
      body: file,
    });
    const page = await answer.text();
    if (answer.ok && page === "/") {
      window.location.assign("/");
      return;
    }
    const refusal = new DOMParser().parseFromString(page, "text/html");
    said((refusal.body.textContent || words("refused")).trim());
  } catch {
    said(words("silent"));
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
  note.textContent = words("silent");
  document.getElementById("content").prepend(note);
});

// What was changed has a new number on the server: forms that were shown before send that one.
document.body.addEventListener("saved", (event) => {
  document.querySelectorAll("input[name=state]").forEach((own) => { own.value = event.detail.value; });
  document.querySelector("form[action='/undo'] button").disabled = false;
  document.querySelector("form[action='/redo'] button").disabled = true;
});

// A change that is being saved is waited for before a link leads away, and before the list is shown anew.
let changes = 0, sent = 0, done = 0, leaving = null, pressed = null, stale = false;
const autosaved = (element) => element.closest && element.closest("form[data-autosave]");
const saves = (event) => event.detail.requestConfig?.verb === "post" && autosaved(event.detail.elt);
const panel = document.getElementById("panel");
function settled() {
  if (done < changes) return;
  const button = pressed;
  pressed = null; // once, however many answers come
  if (button) button.form.requestSubmit(button);
  else if (leaving) window.location.assign(leaving);
  else if (stale && panel && !panel.open) window.location.reload();
}
document.addEventListener("change", (event) => {
  const field = event.target;
  const saving = field.matches(".autosave") || field.hasAttribute("hx-post") || field.form?.dataset.autosave === "all";
  if (!autosaved(field) || !saving) return;
  changes += 1;
  stale = stale || Boolean(field.closest("#panel"));
}, true); // before the request of the field itself
document.body.addEventListener("htmx:beforeRequest", (event) => { if (saves(event)) sent = changes; });
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (!saves(event)) return;
  done = sent;
  settled();
});
document.addEventListener("submit", (event) => {
  if (!autosaved(event.target) || done >= changes) return;
  event.preventDefault();
  pressed = event.submitter;
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || done >= changes) return;
  event.preventDefault();
  leaving = link.href;
});
panel?.addEventListener("close", settled);

// The list of variables: search, filter by role, sort, select many.
function variables(table) {
  const form = table.closest("form"), body = table.tBodies[0], rows = [...body.rows];
  const find = (name) => form.querySelector(`[data-${name}]`);
  const search = find("search"), filter = find("filter"), all = find("all"), bulk = find("bulk");
  const box = (row) => row.querySelector("[name=selected]"), role = (row) => row.querySelector(".of-role select");
  const selected = () => {
    const number = rows.filter((row) => box(row).checked).length;
    find("selected").textContent = number;
    bulk.hidden = !number;
  };
  const show = () => {
    const words = search.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.dataset.text.includes(words) || (filter.value && role(row).value !== filter.value);
    const shown = rows.filter((row) => !row.hidden).length;
    find("shown").textContent = find("shown").dataset.words.replace("SHOWN", shown).replace("ALL", rows.length);
  };
  const value = (row, key) => {
    if (key === "role") return role(row).value;
    const cell = row.querySelector(`.of-${key === "name" ? "variable" : key}`), known = cell.dataset.value ?? cell.querySelector("[data-value]")?.dataset.value;
    return known === undefined ? (key === "risk" ? -1 : cell.textContent.trim()) : key === "name" ? known : Number(known);
  };
  for (const button of table.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      const key = button.dataset.sort, head = button.closest("th"), up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      body.append(...rows.sort((a, b) => (up ? 1 : -1) * order(value(a, key), value(b, key))));
    });
  }
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  filter.addEventListener("change", show);
  all.addEventListener("change", () => {
    for (const row of rows) box(row).checked = all.checked && !row.hidden;
    selected();
  });
  body.addEventListener("change", (event) => { if (event.target.name === "selected") selected(); });
  show();
}

document.body.addEventListener("htmx:load", (event) => event.target.querySelectorAll("[data-variables]").forEach(variables));
document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "panel" && !event.detail.target.open) event.detail.target.showModal();
});
