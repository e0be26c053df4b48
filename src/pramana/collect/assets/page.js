// The page of a survey. True answers live in the fields of this page and in one variable, and
// nowhere else: not in an address, a store or a request. What is kept on this device is what chance
// made of them, and which questions chance has chosen.
(() => {
  const survey = JSON.parse(document.getElementById("survey").textContent);
  const { channel, words: text } = survey;
  const main = document.getElementById("main");
  const KEY = `pramana.${survey.identity}`;
  let answers = {};
  let asked = null;
  let place = 0;
  let code = "";

  const kept = {
    read(name) { try { return localStorage.getItem(`${KEY}.${name}`); } catch { return null; } },
    write(name, value) { try { localStorage.setItem(`${KEY}.${name}`, value); } catch { /* private mode */ } },
  };

  function element(tag, content, attributes = {}) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    for (const part of [content].flat()) if (part !== null && part !== undefined) made.append(part);
    return made;
  }

  function screen(...parts) {
    main.replaceChildren(element("h1", survey.title),
      ...(survey.office ? [element("p", survey.office, { class: "office" })] : []), ...parts);
    main.focus();
    window.scrollTo(0, 0);
  }

  function button(label, action, second) {
    const made = element("button", label, { type: "button", ...(second ? { class: "second" } : {}) });
    made.addEventListener("click", action);
    return made;
  }

  const question = (name) => survey.questions.find((one) => one.name === name);
  const shown = (name, answer) => question(name).labels[answer] ?? text[answer] ?? answer;

  // Which questions are asked: all, or the set that chance has drawn once for this device.
  function chosen() {
    if (asked !== null) return asked;
    const before = kept.read("set");
    const known = before === null ? -1 : Number(before);
    asked = Number.isInteger(known) && known >= 0 && known < channel.asked.length
      ? known : setOf(channel, randomWords(1)[0]);
    kept.write("set", String(asked));
    return asked;
  }

  function columns() {
    const wanted = new Set(channel.asked[chosen()].draws.flatMap((draw) => draw.columns));
    return survey.questions.filter((one) => wanted.has(one.name));
  }

  // A question is passed over where an answer before it says so; if that one was not asked, people
  // say themselves that it does not apply to them.
  function applies(one) {
    return Object.entries(one.ask_if).every(([name, allowed]) =>
      !columns().some((other) => other.name === name) || allowed.includes(answers[name]));
  }

  function offered(one) {
    const known = Object.keys(one.ask_if).every((name) => columns().some((other) => other.name === name));
    return one.answers.filter((answer) => answer !== survey.skipped || (Object.keys(one.ask_if).length && !known));
  }

  function welcome() {
    const sent = kept.read("record");
    if (sent !== null && kept.read("done") !== null) return finished(true);
    if (sent !== null) return review(sent);
    const parts = [];
    if (survey.about) parts.push(element("p", survey.about));
    const card = element("section", survey.consent.slice(0, 4).map((one) => element("p", one)), { class: "card", "aria-label": text.promise });
    const more = element("details", [element("summary", text.more), ...survey.consent.slice(4).map((one) => element("p", one)),
      element("p", [`${text.identity} `, element("code", survey.identity)])]);
    card.append(more);
    parts.push(card);
    let field = null;
    if (survey.codes) {
      field = element("input", [], { type: "text", id: "code", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
      field.value = code;
      parts.push(element("p", [element("label", text.code, { for: "code", class: "ask" }), field]));
    }
    const wrong = element("p", "", { class: "error", role: "alert" });
    const begin = button(text.begin, () => {
      if (field !== null) {
        code = field.value.trim();
        if (!code) { wrong.textContent = text.code_needed; field.focus(); return; }
      }
      place = -1;
      forward();
    });
    const upload = element("input", [], { type: "file", id: "upload", accept: "application/json,.json" });
    upload.addEventListener("change", () => uploaded(upload, wrong));
    const later = element("details", [element("summary", text.upload), element("label", text.upload_file, { for: "upload" }), upload]);
    screen(...parts, wrong, element("div", begin, { class: "buttons" }), later);
    return null;
  }

  function forward() {
    const own = columns();
    place += 1;
    while (place < own.length && !applies(own[place])) {
      answers[own[place].name] = survey.skipped;
      place += 1;
    }
    if (place < own.length) ask(own[place]); else draw();
  }

  function back() {
    const own = columns();
    place -= 1;
    while (place >= 0 && !applies(own[place])) place -= 1;
    if (place >= 0) ask(own[place]); else welcome();
  }

  function ask(one) {
    const own = columns();
    const wrong = element("p", "", { class: "error", role: "alert", id: "wrong" });
    const field = one.bins ? number(one) : choices(one);
    const form = element("form", [field.made, wrong, element("div", [element("button", text.next, { type: "submit" }), button(text.back, back, true)], { class: "buttons" })], { novalidate: "", class: "card" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = field.read();
      if (answer === null) { wrong.textContent = one.bins ? field.hint : text.choose; field.focus(); return; }
      answers[one.name] = answer;
      forward();
    });
    screen(element("p", `${text.question} ${place + 1} ${text.of} ${own.length}`, { class: "progress" }), form);
  }

  function choices(one) {
    const many = offered(one).length > 12;
    if (many) {
      const select = element("select", [element("option", text.choose, { value: "" }), ...offered(one).map((answer) => element("option", shown(one.name, answer), { value: answer }))], { id: "answer" });
      select.value = answers[one.name] ?? "";
      return { made: element("div", [element("label", one.text, { for: "answer", class: "ask" }), select]), read: () => select.value || null, focus: () => select.focus() };
    }
    const inputs = offered(one).map((answer, at) => {
      const input = element("input", [], { type: "radio", name: "answer", value: answer, id: `answer${at}` });
      input.checked = answers[one.name] === answer;
      return input;
    });
    const labels = inputs.map((input) => element("label", [input, element("span", shown(one.name, input.value))], { class: "answer" }));
    return {
      made: element("fieldset", [element("legend", one.text), ...labels]),
      read: () => inputs.find((input) => input.checked)?.value ?? null,
      focus: () => inputs[0].focus(),
    };
  }

  function number(one) {
    const low = one.bins[0];
    const high = one.bins[one.bins.length - 1];
    const input = element("input", [], { type: "number", id: "answer", step: "any", inputmode: "decimal", "aria-describedby": "wrong" });
    const rest = offered(one).slice(one.bins.length - 1);
    const boxes = rest.map((answer, at) => {
      const box = element("input", [], { type: "radio", name: "instead", value: answer, id: `instead${at}` });
      box.addEventListener("change", () => { input.value = ""; });
      return box;
    });
    input.addEventListener("input", () => boxes.forEach((box) => { box.checked = false; }));
    const others = boxes.map((box) => element("label", [box, element("span", shown(one.name, box.value))], { class: "answer" }));
    return {
      made: element("div", [element("label", one.text, { for: "answer", class: "ask" }), input, ...others]),
      hint: `${text.number} ${low} ${text.to} ${high}.`,
      focus: () => input.focus(),
      read() {
        const instead = boxes.find((box) => box.checked);
        if (instead) return instead.value;
        const value = input.value === "" ? NaN : Number(input.value);
        if (!(value >= low && value <= high)) return null;
        const bin = Math.min(one.bins.findLastIndex((edge) => edge <= value), one.bins.length - 2);
        return one.answers[bin];
      },
    };
  }

  // Chance decides once: what it made of the answers is kept, and shown before it is sent.
  function draw() {
    const draws = channel.asked[chosen()].draws;
    const record = send(channel, chosen(), answers, randomWords(draws.length));
    kept.write("record", record);
    kept.write("token", survey.codes ? code : randomWords(4).map((word) => word.toString(16).padStart(16, "0")).join(""));
    review(record);
  }

  function review(record) {
    const rows = valuesOf(channel, record).map(([name, value]) => element("tr", [
      element("th", question(name).text, { scope: "row" }),
      element("td", answers[name] === undefined ? "" : shown(name, answers[name])),
      element("td", shown(name, value)),
    ]));
    const table = element("table", [
      element("thead", element("tr", [text.question, text.said, text.sent].map((one) => element("th", one, { scope: "col" })))),
      element("tbody", rows),
    ]);
    const wrong = element("p", "", { class: "error", role: "alert" });
    const go = button(text.send, () => deliver(record, wrong, go));
    const save = button(text.save, () => saved(record), true);
    screen(element("h2", text.review), element("p", text.review_words), element("p", chances(record)),
      element("div", table, { class: "card" }),
      element("p", [`${text.exactly} `, element("code", record)]), wrong, element("div", [go, save], { class: "buttons" }));
  }

  // How likely it is that an answer is sent as it was given, rounded up.
  function chances(record) {
    const draws = channel.asked[Number(record.split(".")[0])].draws;
    const each = draws.map((draw) => {
      const moved = BigInt(draw.cells.length - 1) * BigInt(draw.other);
      return Number(((TOTAL - moved) * 100n + TOTAL - 1n) / TOTAL);
    });
    const low = Math.min(...each);
    const high = Math.max(...each);
    return `${text.chance} ${low === high ? low : `${low} % ${text.to} ${high}`} %.`;
  }

  async function work(token, record) {
    if (!survey.work) return "";
    for (let number = 0; ; number += 1) {
      const content = new TextEncoder().encode(`${survey.identity}.${token}.${record}.${number}`);
      const digest = new DataView(await crypto.subtle.digest("SHA-256", content));
      if (digest.getUint32(0) >>> (32 - survey.work) === 0) return String(number).padStart(12, "0");
    }
  }

  async function body(record) {
    const token = kept.read("token") ?? code;
    return JSON.stringify({ survey: survey.identity, record, token, work: await work(token, record) });
  }

  async function deliver(record, wrong, go) {
    go.disabled = true;
    wrong.textContent = "";
    const failed = await post(await body(record));
    if (failed === null) { answers = {}; kept.write("done", "1"); finished(false); return; }
    go.disabled = false;
    wrong.textContent = failed;
  }

  async function post(content) {
    try {
      const reply = await fetch("answer", { method: "POST", body: content, headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" });
      if (reply.ok) return null;
      if (reply.status === 403) return text.code_unknown;
      return text.refused;
    } catch {
      return text.offline;
    }
  }

  async function saved(record) {
    const address = URL.createObjectURL(new Blob([await body(record)], { type: "application/json" }));
    const link = element("a", "", { href: address, download: `${survey.file}.json` });
    link.click();
    URL.revokeObjectURL(address);
  }

  async function uploaded(input, wrong) {
    const content = await input.files[0].text();
    const failed = await post(content);
    if (failed === null) finished(false); else wrong.textContent = failed;
  }

  function finished(before) {
    screen(element("section", [element("h2", text.thanks), element("p", before ? text.again : text.done)], { class: "card" }));
  }

  addEventListener("pageshow", (event) => { if (event.persisted) { answers = {}; welcome(); } });
  welcome();
})();
