"use strict";
// From true answers and random words to the record that is sent: integers alone, one word a draw.
// The same function, word for word, as pramana's own (see docs/collect.md).
const TOTAL = 1n << 64n;

function randomWords(count) {
  const bytes = new Uint8Array(8 * count);
  crypto.getRandomValues(bytes);
  const words = [];
  for (let i = 0; i < count; i += 1) {
    let word = 0n;
    for (let j = 7; j >= 0; j -= 1) word = (word << 8n) | BigInt(bytes[8 * i + j]);
    words.push(word);
  }
  return words;
}

function setOf(channel, word) {
  if (!channel.reports) return 0;
  return channel.asked.findIndex((one) => word < BigInt(one.end));
}

function drawCell(draw, place, word) {
  const other = BigInt(draw.other);
  return word < BigInt(draw.cells.length) * other ? Number(word / other) : place;
}

function cellOf(draw, answers) {
  return draw.cells.findIndex((cell) => draw.columns.every((name, at) => cell[at] === answers[name]));
}

function spelled(channel, asked, cells) {
  const numbers = [asked, ...cells];
  return channel.widths.map((width, at) => String(numbers[at] ?? 0).padStart(width, "0")).join(".");
}

function send(channel, asked, answers, words) {
  const draws = channel.asked[asked].draws;
  const cells = draws.map((draw, at) => {
    const place = cellOf(draw, answers);
    if (place < 0) throw new Error("These answers cannot be given together.");
    return drawCell(draw, place, words[at]);
  });
  return spelled(channel, asked, cells);
}

function valuesOf(channel, record) {
  const [asked, ...cells] = record.split(".").map(Number);
  const found = [];
  channel.asked[asked].draws.forEach((draw, at) => {
    draw.columns.forEach((name, place) => found.push([name, draw.cells[cells[at]][place]]));
  });
  return found;
}
