"use strict";
// From true answers and random words to the record that is sent: integers alone, one word a draw.
// The same function, word for word, as pramana's own (channel.py).
const TOTAL = 1n << 64n;

// What the page knows. Cells that are all combinations of answers are spelled here, the last
// question running fastest, once somebody is asked for them.
function readSurvey() {
  const survey = JSON.parse(document.getElementById("survey").textContent);
  const answers = new Map(survey.questions.map((one) => [one.name, one.answers]));
  for (const asked of survey.channel.asked) {
    for (const draw of asked.draws) {
      if (draw.cells) continue;
      let spelt = null;
      const cells = () => draw.columns.reduce((before, name) => before.flatMap((cell) => answers.get(name).map((answer) => [...cell, answer])), [[]]);
      Object.defineProperty(draw, "cells", { enumerable: true, get: () => (spelt ??= cells()) });
    }
  }
  return survey;
}

function randomWords(count) {
  const bytes = new Uint8Array(8 * count);
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
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

function drawCell(draw, place, word, weight = draw.other) {
  const other = BigInt(weight);
  return word < BigInt(draw.cells.length) * other ? Number(word / other) : place;
}

function cellOf(draw, answers) {
  return draw.cells.findIndex((cell) => draw.columns.every((name, at) => cell[at] === answers[name]));
}

// The place of the point that a typed number becomes: the next one for k of n words, k of n steps above.
function pointOf(question, value, word) {
  const { marks, step } = question;
  const steps = Math.floor((value - question.points[0]) / step + 0.5);
  const below = Math.min(marks.filter((mark) => mark <= steps).length, marks.length - 1) - 1;
  const above = BigInt(steps - marks[below]);
  const width = BigInt(marks[below + 1] - marks[below]);
  return word < (above * TOTAL) / width ? below + 1 : below;
}

function spelled(channel, asked, cells) {
  const numbers = [asked, ...cells];
  return channel.widths.map((width, at) => String(numbers[at] ?? 0).padStart(width, "0")).join(".");
}

// What a person of a panel keeps for life: for every draw a permanent answer for each true one.
function remember(channel, asked, words) {
  let used = 0;
  return channel.asked[asked].draws.map((draw) => draw.cells.map((_, place) => {
    used += 1;
    return drawCell(draw, place, words[used - 1], draw.stages[0]);
  }));
}

function cellsKept(channel, asked) {
  return channel.asked[asked].draws.reduce((sum, draw) => sum + draw.cells.length, 0);
}

function send(channel, asked, answers, words, permanent = null) {
  const draws = channel.asked[asked].draws;
  const cells = draws.map((draw, at) => {
    const place = cellOf(draw, answers);
    if (place < 0) throw new Error("These answers cannot be given together.");
    if (permanent === null) return drawCell(draw, place, words[at]);
    return drawCell(draw, permanent[at][place], words[at], draw.stages[1]);
  });
  return spelled(channel, asked, cells);
}

// Whether a text is a record that the channel can send.
function sendable(channel, record) {
  const parts = record.split(".");
  if (parts.length !== channel.widths.length) return false;
  if (!parts.every((part, at) => /^[0-9]+$/.test(part) && part.length === channel.widths[at])) return false;
  const [asked, ...cells] = parts.map(Number);
  const draws = channel.asked[asked]?.draws;
  return draws !== undefined && cells.every((cell, at) => cell < (draws[at]?.cells.length ?? 1));
}

function valuesOf(channel, record) {
  const [asked, ...cells] = record.split(".").map(Number);
  const found = [];
  channel.asked[asked].draws.forEach((draw, at) => {
    draw.columns.forEach((name, place) => found.push([name, draw.cells[cells[at]][place]]));
  });
  return found;
}
