// The page of a survey. True answers live in the fields of this page and in one variable, and
// nowhere else: not in an address, a store or a request. Until it has arrived, this device keeps the
// randomised record; for good it keeps which questions chance has chosen and that it has answered.
(() => {
  const survey = readSurvey();
  const { channel } = survey;
  let text = survey.words;
  const main = document.getElementById("main");
  const KEY = `pramana.${survey.identity}`;
  const FOR_LIFE = ["set", "permanent"];
  const PATIENCE = 10000;
  const MOST_BYTES = 4096;
  const plain = (own) => Object.assign(Object.create(null), own);
  let answers = plain({});
  let asked = null;
  let place = 0;
  let code = "";
  let wave = 1;

  // What this device remembers, for each code by itself; where it may keep nothing, the page does.
  const memory = new Map();
  const kept = {
    key: (name) => [KEY, ...(survey.codes ? [code] : []), ...(survey.panel && !FOR_LIFE.includes(name) ? [wave] : []), name].join("."),
    read(name) {
      const key = kept.key(name);
      try { return memory.get(key) ?? localStorage.getItem(key); } catch { return null; }
    },
    write(name, value) {
      memory.set(kept.key(name), value);
      if (survey.trial) return;
      try { localStorage.setItem(kept.key(name), value); } catch { /* storage is full or forbidden */ }
    },
    drop(name) {
      memory.delete(kept.key(name));
      try { localStorage.removeItem(kept.key(name)); } catch { /* storage is forbidden */ }
    },
  };

  // What may be drawn once only, however many tabs draw in the same moment: whoever writes first into
  // a database has drawn for all. Other storage is told to other tabs some time later. A database that
  // never opens is not waited for; one that has opened is, however slow a device may be.
  // With ``always`` the value replaces what was drawn before, and none deletes it.
  function first(name, value, always = false) {
    if (survey.trial) return Promise.resolve(value);
    const key = kept.key(name);
    return new Promise((done) => {
      const without = () => done(value);
      const patience = setTimeout(without, PATIENCE);
      try {
        const opened = indexedDB.open("pramana", 1);
        opened.onupgradeneeded = () => opened.result.createObjectStore("first");
        opened.onerror = without;
        opened.onsuccess = () => {
          clearTimeout(patience);
          const change = opened.result.transaction("first", "readwrite");
          const store = change.objectStore("first");
          const before = store.get(key);
          let found = value;
          before.onsuccess = () => {
            if (always) { if (value === undefined) store.delete(key); else store.put(value, key); }
            else if (before.result === undefined) store.add(value, key);
            else found = before.result;
          };
          change.oncomplete = () => { opened.result.close(); done(found); };
          change.onabort = without;
        };
      } catch { without(); }
    });
  }

  function element(tag, content, attributes = {}) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    for (const part of [content].flat()) if (part !== null && part !== undefined) made.append(part);
    return made;
  }

  function screen(...parts) {
    main.replaceChildren(element("h1", survey.title), ...(survey.trial ? [element("p", text.trial, { class: "error" })] : []),
      ...(survey.office ? [element("p", survey.office, { class: "office" })] : []), ...parts);
    if (document.hasFocus()) main.focus(); // a preview beside a form takes nothing from who types there
    window.scrollTo(0, 0);
  }

  function button(label, action, second) {
    const made = element("button", label, { type: "button", ...(second ? { class: "second" } : {}) });
    made.addEventListener("click", action);
    return made;
  }

  const question = (name) => survey.questions.find((one) => one.name === name);
  const ours = (answer) => answer === survey.skipped || answer === survey.not_said;
  const shown = (name, answer) => plain(question(name).labels)[answer] ?? (ours(answer) ? text[answer] : answer);

  // Answers and sentences keep their own direction: "[18, 30)" would be turned round in a page that
  // runs from right to left. No line ends between a number and its percent sign.
  const answered = (name, answer) => element("bdi", shown(name, answer));
  const sentence = (one) => element("p", one.replace(/(\d) %/g, "$1\u00a0%"), { dir: "auto" });

  // Which questions are asked: all, or the set that chance has drawn once for this device.
  async function choose() {
    const known = (own) => /^\d+$/.test(own) && own in channel.asked;
    const before = kept.read("set");
    const drawn = known(before) ? before : String(setOf(channel, randomWords(1)[0]));
    const found = await first("set", drawn);
    asked = Number(known(found) ? found : drawn);
    kept.write("set", String(asked));
  }

  const chosen = () => asked;

  function columns() {
    const wanted = new Set(channel.asked[chosen()].draws.flatMap((draw) => draw.columns));
    return survey.questions.filter((one) => wanted.has(one.name));
  }

  // What may be answered after the answers before it. Where only one thing may, that a question does
  // not apply, it is shown as answered: everybody takes as many steps. If the one that decides it was
  // not asked, people say it themselves.
  function offered(one) {
    const draw = channel.asked[chosen()].draws.find((own) => own.columns.includes(one.name));
    const before = survey.questions.slice(0, survey.questions.indexOf(one)).map((own) => own.name);
    const fits = draw.cells.filter((cell) => draw.columns.every((name, at) => !before.includes(name) || cell[at] === answers[name]));
    const possible = new Set(fits.map((cell) => cell[draw.columns.indexOf(one.name)]));
    return one.answers.filter((answer) => possible.has(answer));
  }

  const applies = (one) => offered(one).some((answer) => answer !== survey.skipped);

  // What was drawn before can still be sent; what has arrived is thanked for.
  function resumed() {
    const record = kept.read("record");
    if (kept.read("done") !== null) { forget(SENT); finished(text.again); return true; }
    if (record === null) return false;
    ready(record);
    return true;
  }

  // The record is deleted once it has arrived: together with the permanent answers of a panel it
  // would tell which of them is true. A mark in its place keeps other tabs from drawing anew.
  const SENT = JSON.stringify(["", ""]);
  async function forget(mark) {
    kept.drop("token");
    kept.drop("record");
    await first("drawn", mark, true);
  }

  async function decline() {
    await forget();
    answers = plain({});
    code = "";
    screen(element("section", [element("h2", text.declined), element("p", text.declined_words)], { class: "card" }));
  }

  // The texts of a language, in place of those before; what is sent does not depend on it.
  const languageOf = (own) => new Intl.DisplayNames([own.language], { type: "language" }).of(own.language);
  function speak({ questions, language, direction, ...texts }) {
    Object.assign(survey, texts);
    text = survey.words;
    survey.questions.forEach((one, at) => Object.assign(one, questions[at]));
    Object.assign(document.documentElement, { lang: language, dir: direction });
    document.title = survey.title;
  }

  // Buttons for the other languages, each named in its own.
  function languages() {
    const others = (survey.languages ?? []).filter((own) => own.language !== document.documentElement.lang);
    if (!others.length) return null;
    return element("p", others.map((own) => {
      const made = button(languageOf(own), () => { speak(own); welcome(); }, true);
      made.lang = own.language;
      return made;
    }), { class: "buttons languages" });
  }

  const codeOf = (typed) => typed.replace(/[\s-]/g, "").toUpperCase();

  function codeField() {
    const field = element("input", [], { type: "text", id: "code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false" });
    field.value = code;
    return { field, made: element("p", [element("label", text.code, { for: "code", class: "ask" }), field]), read: () => codeOf(field.value) };
  }

  // Whoever comes next on this device sees nothing of what was said before.
  function welcome(said = "") {
    answers = plain({});
    if (!survey.codes && resumed()) return;
    const parts = [languages()].filter(Boolean);
    if (survey.about) parts.push(element("p", survey.about));
    const card = element("section", survey.consent.slice(0, 5).map(sentence), { class: "card", "aria-label": text.promise });
    card.append(element("details", [element("summary", text.more), ...survey.consent.slice(5).map(sentence),
      element("p", [`${text.identity} `, element("code", survey.identity)])]));
    parts.push(card);
    const field = survey.codes ? codeField() : null;
    if (field !== null) parts.push(field.made);
    const wrong = element("p", said, { class: "error", role: "alert" });
    const begin = button(text.begin, () => started(field, wrong));
    screen(...parts, wrong, element("div", [begin, button(text.decline, decline, true)], { class: "buttons" }), uploading(wrong));
  }

  function uploading(wrong) {
    const upload = element("input", [], { type: "file", id: "upload", accept: "application/json,.json" });
    upload.addEventListener("change", () => uploaded(upload, wrong));
    return element("details", [element("summary", text.upload), element("label", text.upload_file, { for: "upload" }), upload]);
  }

  // A code that was used, on whatever device, is asked nothing: no second record of a person leaves.
  async function started(field, wrong) {
    if (field !== null) {
      code = field.read();
      if (!code) { wrong.textContent = text.code_needed; field.field.focus(); return; }
      asked = null;
      if (resumed()) return;
      const told = await post("code", JSON.stringify({ survey: survey.keys[wave - 1], token: code }));
      if (told.status === 403 || told.status === 410) { wrong.textContent = told.said; field.field.focus(); return; }
      if (told.outcome === "accepted before") { finished(text.code_used); return; }
    }
    if (asked === null) await choose();
    place = -1;
    forward();
  }

  function forward() {
    const own = columns();
    place += 1;
    if (place < own.length) ask(own[place]); else draw();
  }

  function back() {
    const own = columns();
    place -= 1;
    if (place >= 0) ask(own[place]); else welcome();
  }

  function ask(one) {
    const own = columns();
    const wrong = element("p", "", { class: "error", role: "alert", id: "wrong" });
    const field = (one.bins ?? one.points) && applies(one) ? number(one) : choices(one);
    // Nothing is left to a browser that remembers what was typed.
    const form = element("form", [field.made, wrong, element("div", [element("button", text.next, { type: "submit" }), button(text.back, back, true)], { class: "buttons" })], { novalidate: "", class: "card", autocomplete: "off" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = field.read();
      if (answer === null) { wrong.textContent = field.hint ?? text.choose; field.focus(); return; }
      answers[one.name] = answer;
      forward();
    });
    screen(element("p", `${text.question} ${place + 1} ${text.of} ${own.length}`, { class: "progress" }), form);
  }

  function choices(one) {
    const many = offered(one).length > 12;
    if (many) {
      const select = element("select", [element("option", text.choose, { value: "" }), ...offered(one).map((answer) => element("option", shown(one.name, answer), { value: answer, dir: "auto" }))], { id: "answer", autocomplete: "off" });
      select.value = answers[one.name] ?? "";
      return { made: element("div", [element("label", one.text, { for: "answer", class: "ask" }), select]), read: () => select.value || null, focus: () => select.focus() };
    }
    const inputs = offered(one).map((answer, at) => {
      const input = element("input", [], { type: "radio", name: "answer", value: answer, id: `answer${at}`, autocomplete: "off" });
      input.checked = answers[one.name] === answer || !applies(one);
      return input;
    });
    const labels = inputs.map((input) => element("label", [input, answered(one.name, input.value)], { class: "answer" }));
    return {
      made: element("fieldset", [element("legend", one.text), ...labels]),
      read: () => inputs.find((input) => input.checked)?.value ?? null,
      focus: () => inputs[0].focus(),
    };
  }

  function number(one) {
    const ends = one.bins ?? one.points;
    const low = ends[0];
    const high = ends[ends.length - 1];
    const input = element("input", [], { type: "number", id: "answer", step: "any", inputmode: "decimal", autocomplete: "off", "aria-describedby": "wrong", placeholder: `${low} ${text.to} ${high}` });
    const rest = offered(one).filter(ours);
    const boxes = rest.map((answer, at) => {
      const box = element("input", [], { type: "radio", name: "instead", value: answer, id: `instead${at}`, autocomplete: "off" });
      box.addEventListener("change", () => { input.value = ""; });
      return box;
    });
    input.addEventListener("input", () => boxes.forEach((box) => { box.checked = false; }));
    const others = boxes.map((box) => element("label", [box, answered(one.name, box.value)], { class: "answer" }));
    return {
      made: element("div", [element("label", one.text, { for: "answer", class: "ask" }), input, ...others]),
      hint: `${text.number} ${low} ${text.to} ${high}.`,
      focus: () => input.focus(),
      read() {
        const instead = boxes.find((box) => box.checked);
        if (instead) return instead.value;
        const value = input.value === "" ? NaN : Number(input.value);
        if (!(value >= low && value <= high)) return null;
        if (one.points) return one.answers[pointOf(one, value, randomWords(1)[0])];
        const below = one.bins.filter((edge) => edge <= value).length;
        return one.answers[Math.min(below, one.bins.length - 1) - 1];
      },
    };
  }

  // In a panel: what is kept for life, drawn when it is first needed. It does not say what is true.
  async function permanent() {
    const draws = channel.asked[chosen()].draws;
    const whole = (own) => own.length === draws.length && draws.every((draw, at) => own[at].length === draw.cells.length);
    const before = JSON.parse(kept.read("permanent") ?? "[]");
    const drawn = whole(before) ? before : remember(channel, chosen(), randomWords(cellsKept(channel, chosen())));
    const found = JSON.parse(await first("permanent", JSON.stringify(drawn)));
    const made = whole(found) ? found : drawn;
    kept.write("permanent", JSON.stringify(made));
    return made;
  }

  // Chance decides once. Where another tab was quicker, what that one drew is sent.
  async function draw() {
    if (resumed()) return;
    const draws = channel.asked[chosen()].draws;
    const record = send(channel, chosen(), answers, randomWords(draws.length), survey.panel ? await permanent() : null);
    const token = survey.codes ? code : randomWords(4).map((word) => word.toString(16).padStart(16, "0")).join("");
    ready(await decided(token, record));
  }

  // The record of this device; empty where another tab has sent it already.
  async function decided(...drawn) {
    const [token, record] = JSON.parse(await first("drawn", JSON.stringify(drawn)));
    if (!record) return "";
    // The token first: a record without one could never be sent.
    kept.write("token", token);
    kept.write("record", record);
    return record;
  }

  // The record is not shown: people who saw it could send only what suits them, and their choice
  // would reveal something about them.
  function ready(record) {
    if (!record) { finished(text.again); return; }
    answers = plain({});
    const wrong = element("p", "", { class: "error", role: "alert" });
    const field = survey.codes ? codeField() : null;
    const go = button(text.send, async () => {
      go.disabled = true;
      const own = await corrected(field, record);
      if (own === null) welcome(text.code_again); else if (own) deliver(own, wrong, go); else finished(text.code_used);
    });
    screen(element("section", [element("h2", text.ready), element("p", text.ready_words)], { class: "card" }),
      ...(field === null ? [] : [field.made]), wrong,
      element("div", [go, button(text.save, () => saved(record), true), button(text.decline, decline, true)], { class: "buttons" }));
  }

  // A code that was mistyped is put right, and what was drawn stays; unless the right one has drawn.
  // Of a panel the right one may have drawn what it keeps for life: it begins again, with that.
  async function corrected(field, record) {
    if (field === null || !field.read() || field.read() === code) return record;
    const before = FOR_LIFE.map((name) => [name, kept.read(name)]);
    await forget();
    code = field.read();
    if (kept.read("done") !== null) return "";
    if (kept.read("record") !== null) return decided(code, record);
    for (const [name, value] of before) {
      if (value === null) continue;
      if ((kept.read(name) ?? value) !== value || (await first(name, value)) !== value) return null;
      kept.write(name, value);
    }
    return decided(code, record);
  }

  async function work(token, record) {
    if (!survey.work) return "";
    for (let number = 0; ; number += 1) {
      const spelt = String(number).padStart(12, "0");
      const content = new TextEncoder().encode(`${survey.keys[wave - 1]}.${token}.${record}.${spelt}`);
      const digest = new DataView(await crypto.subtle.digest("SHA-256", content));
      if (digest.getUint32(0) >>> (32 - survey.work) === 0) return spelt;
    }
  }

  async function body(record) {
    const token = kept.read("token");
    return JSON.stringify({ survey: survey.keys[wave - 1], record, token, work: await work(token, record) });
  }

  async function deliver(record, wrong, go) {
    go.disabled = true;
    wrong.textContent = "";
    const told = await delivered(kept.read("token"), () => body(record));
    if (told.status === 200) { await arrived(); finished(told.said); return; }
    go.disabled = false;
    wrong.textContent = told.said;
  }

  async function arrived() {
    kept.write("done", "1");
    await forget(SENT);
  }

  // A code is asked about once more before anything leaves: who could not be asked when they began,
  // and has answered on another device meanwhile, sends no second record.
  async function delivered(token, content) {
    if (survey.codes) {
      const told = await post("code", JSON.stringify({ survey: survey.keys[wave - 1], token }));
      if (told.outcome === "accepted before") return { status: 200, said: text.code_used };
      if (told.status !== 200) return told;
    }
    const told = await post("answer", await content());
    return told.status === 200 ? { ...told, said: text.done } : told;
  }

  async function post(where, content) {
    if (survey.trial) return { status: 200 };
    try {
      const reply = await fetch(where, { method: "POST", body: content, headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" });
      const said = { 403: text.code_unknown, 410: text.closed }[reply.status] ?? text.refused;
      return { status: reply.status, said, outcome: (await reply.json().catch(() => ({}))).outcome };
    } catch {
      return { status: 0, said: text.offline };
    }
  }

  async function saved(record) {
    const address = URL.createObjectURL(new Blob([await body(record)], { type: "application/json" }));
    const link = element("a", "", { href: address, download: `${survey.file}.json` });
    link.click();
    URL.revokeObjectURL(address);
  }

  // The answer in a file, if it is one that this page has saved: nothing else that lies on a device
  // may leave it, whatever somebody chooses by mistake.
  async function savedIn(file) {
    if (file.size > MOST_BYTES) return null;
    let own = null;
    try { own = JSON.parse(await file.text()); } catch { return null; }
    if (own === null || Object.keys(own).sort().join() !== "record,survey,token,work") return null;
    if (!Object.values(own).every((one) => typeof one === "string")) return null;
    const { survey: key, record, token, work: spelt } = own;
    const known = survey.codes ? /^[!-~]{1,64}$/.test(token) && codeOf(token) === token : /^[0-9a-f]{64}$/.test(token);
    const worked = survey.work ? /^[0-9]{12,20}$/.test(spelt) : spelt === "";
    if (key !== survey.keys[wave - 1] || !known || !worked || !sendable(channel, record)) return null;
    return { survey: key, record, token, work: spelt };
  }

  async function uploaded(input, wrong) {
    if (!input.files.length) return;
    wrong.textContent = "";
    const sent = await savedIn(input.files[0]);
    if (sent === null) { input.value = ""; wrong.textContent = text.upload_wrong; return; }
    const told = await delivered(sent.token, () => JSON.stringify(sent));
    if (told.status !== 200) { wrong.textContent = told.said; return; }
    await adopted(sent);
    finished(told.said);
  }

  // Who answered by a file and sends it here has answered: this device draws no second record. What
  // was drawn here before stays.
  async function adopted(sent) {
    if (survey.trial || survey.codes || kept.read("record") !== null || kept.read("done") !== null) return;
    if (await decided(sent.token, sent.record) === sent.record) await arrived();
  }

  function finished(said) {
    answers = plain({});
    const wrong = element("p", "", { class: "error", role: "alert" });
    screen(element("section", [element("h2", text.thanks), element("p", said)], { class: "card" }), wrong, uploading(wrong));
  }

  // Who leaves the page leaves nothing of what was said on it, also where a browser keeps it whole.
  addEventListener("pagehide", () => { answers = plain({}); code = ""; main.replaceChildren(); });
  addEventListener("pageshow", (event) => { if (event.persisted) welcome(); });

  // Which wave of a panel is under way: the end of the address says it, or else the collector.
  async function opened() {
    if (survey.work && !crypto.subtle) return screen(element("p", text.insecure, { class: "error", role: "alert" }));
    const stated = Number(location.hash.slice(1));
    if (!survey.panel || survey.trial) return welcome();
    if (stated) wave = stated;
    else try { wave = Number((await (await fetch("wave", { cache: "no-store", credentials: "omit" })).json()).wave); } catch { wave = 0; }
    if (wave >= 1 && wave <= survey.keys.length) return welcome();
    return screen(element("p", text.offline_wave, { class: "error", role: "alert" }));
  }
  const wanted = survey.languages?.find((own) => own.language.split("-")[0] === navigator.language.split("-")[0]);
  if (wanted) speak(wanted);
  opened();
})();
