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
