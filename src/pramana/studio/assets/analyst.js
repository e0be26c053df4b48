"use strict";
// Columns are dragged into the lists of a table or into a formula; the lists do the same by keyboard.

const ZONES = ".drop-column, .drop-formula";

document.addEventListener("dragstart", (event) => {
  const chip = event.target.closest(".chip");
  if (!chip) return;
  event.dataTransfer.setData("text/plain", chip.dataset.column);
  event.dataTransfer.effectAllowed = "copy";
  chip.classList.add("dragged");
});

document.addEventListener("dragend", (event) => {
  if (event.target.closest) event.target.closest(".chip")?.classList.remove("dragged");
});

document.addEventListener("dragover", (event) => {
  const zone = event.target.closest?.(ZONES);
  document.querySelectorAll(".over").forEach((one) => one.classList.toggle("over", one === zone));
  if (zone) {
    event.preventDefault();
    zone.classList.add("over");
  }
});

document.addEventListener("drop", (event) => {
  const zone = event.target.closest?.(ZONES);
  if (!zone) return;
  event.preventDefault();
  zone.classList.remove("over");
  const name = event.dataTransfer.getData("text/plain");
  const list = zone.querySelector("select");
  if (list) {
    if (![...list.options].some((one) => one.value === name)) return;
    list.value = name;
    list.form.requestSubmit();
    return;
  }
  const field = zone.querySelector("input");
  const plain = /^[A-Za-z_.][A-Za-z0-9_.]*$/.test(name) ? name : "`" + name + "`";
  const begun = field.value.trim();
  field.value = begun === "" ? plain + " ~ " : begun + (begun.endsWith("~") ? " " : " + ") + plain;
  field.focus();
});
