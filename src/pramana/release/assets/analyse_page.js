"use strict";
/* The page: opens the data file, lists what was checked, and shows the tables that are asked for. */

(() => {
  const described = JSON.parse(document.getElementById("release").textContent);
  const at = (id) => document.getElementById(id);
  const made = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  let release = null, table = null;

  at("summary").textContent = `${described.records.toLocaleString("en")} released records by method ${described.method}. `
    + "Estimates correct for the randomisation; counting the records does not.";
  at("names").textContent = described.files.map((file) => file.name).join(" or ");
  at("file").accept = described.files.map((file) => file.name.replace(/^.*\./, ".")).join();
  for (const sentence of described.sentences) at("sentences").append(made("li", sentence));

  const nameOf = (column) => (column.label ? `${column.label} (${column.name})` : column.name);

  function choices(id, options) {
    at(id).replaceChildren(...options.map(([value, text]) => { const option = made("option", text); option.value = value; return option; }));
  }

  function check(text, passed) { at("checks").append(made("li", text, passed ? "passed" : "failed")); }

  async function open(file) {
    at("checks").replaceChildren(); at("ask").hidden = true; at("message").textContent = "";
    const known = described.files.find((one) => one.name === file.name);
    if (!known) return check(`'${file.name}' is no data file of this release. Choose ${at("names").textContent}.`, false);
    if (!["parquet", "csv"].includes(known.format)) return check(`This page reads Parquet and CSV. Open ${known.name} with pramana.`, false);
    const buffer = await file.arrayBuffer();
    if (crypto.subtle) {
      const same = await analyse.digest(buffer) === known.sha256;
      check(same ? "The data file is the one that the certificate describes." : "The data file was changed after the release was written: its digest differs.", same);
      if (!same) return undefined;
    }
    release = new analyse.Release(described, await analyse.read(buffer, known.format));
    check(`${release.rows.toLocaleString("en")} records, as the certificate states.`, release.rows === described.records);
    for (const one of analyse.guarantees(release)) check(`Recomputed from the published probabilities: ${one.name} ${one.holds ? "holds" : "does not hold"}.`, one.holds);
    const listed = described.columns.filter((column) => column.name !== described.weight);
    const means = listed.filter((column) => column.numeric && isNumeric(release.raw(column.name)));
    choices("statistic", [["count", "Number of people"], ["share", "Share of people"],
                          ...means.map((column) => [`mean ${column.name}`, `Mean of ${nameOf(column)}`])]);
    const groups = listed.filter((column) => !means.includes(column) || few(release.raw(column.name)));
    const none = [["", "(nothing)"]];
    choices("by1", groups.map((column) => [column.name, nameOf(column)]));
    for (const id of ["by2", "by3"]) choices(id, [...none, ...groups.map((column) => [column.name, nameOf(column)])]);
    at("ask").hidden = false;
    return undefined;
  }

  const filled = (values) => values.filter((value) => value !== null && value !== undefined);
  const few = (values) => new Set(filled(values).map(String)).size <= 30;
  /** Numbers, or texts of a CSV file that are written as numbers: 01 is a code. */
  const isNumeric = (values) => filled(values).every((value) => typeof value === "number" || typeof value === "bigint"
    || (typeof value === "string" && /^-?(0|[1-9][0-9]{0,14})([.][0-9]+)?(e[+-][0-9]+)?$/.test(value)));

  /** All numbers of a table have the same decimals: none for people, three digits for means. */
  function writer(kind, cells) {
    const largest = Math.max(0, ...cells.map((cell) => Math.abs(cell.estimate)).filter(Number.isFinite));
    const digits = kind === "share" ? 1 : kind === "mean" && largest < 100 ? 2 : 0;
    const style = {minimumFractionDigits: digits, maximumFractionDigits: digits, style: kind === "share" ? "percent" : "decimal"};
    return (value) => {
      if (Number.isNaN(value)) return "not known";
      if (!Number.isFinite(value)) return value > 0 ? "no upper limit" : "no lower limit";
      return value.toLocaleString("en", style);
    };
  }

  /** An estimate is marked where its interval is wider than itself. */
  const unreliable = (cell) => !(cell.high - cell.low <= Math.abs(cell.estimate));

  /** The interval as a bar on the scale of the table, with a dot at the estimate. */
  function drawn(cell, least, most) {
    const share = (value) => 100 * (Math.min(Math.max(value, least), most) - least) / (most - least || 1);
    const track = made("div", undefined, "track"), bar = made("div", undefined, "range"), dot = made("div", undefined, "point");
    bar.style.left = `${share(cell.low)}%`;
    bar.style.width = `${share(cell.high) - share(cell.low)}%`;
    dot.style.left = `${share(cell.estimate)}%`;
    track.append(bar, ...(Number.isNaN(cell.estimate) ? [] : [dot]));
    return track;
  }

  function show(cells, by, statistic) {
    const [kind, of] = [statistic.split(" ")[0], statistic.slice(5)];
    const what = kind === "mean" ? `Mean of ${of}` : kind === "share" ? "Share of people" : "Number of people";
    table = {cells, by, what};
    at("caption").textContent = `${what} by ${by.join(", ")}`;
    at("note").textContent = "Unbiased estimates with standard errors and 95 % intervals, about the people in this table. "
      + "Estimates marked as unreliable have an interval that is wider than the estimate itself."
      + (described.weight && described.weight_rounded ? " Weights were rounded before the release: the errors do not include this." : "");
    const head = made("tr");
    for (const name of by) head.append(made("th", name));
    for (const name of ["estimate", "standard error", "from", "to"]) head.append(made("th", name, "number"));
    head.append(made("th", "interval"), made("th", "reliability"));
    document.querySelector("#result thead").replaceChildren(head);
    const written = writer(kind, cells);
    const ends = cells.flatMap((cell) => [cell.low, cell.high, cell.estimate]).filter(Number.isFinite);
    const [least, most] = [Math.min(0, ...ends), Math.max(...ends)];
    document.querySelector("#result tbody").replaceChildren(...cells.map((cell) => {
      const row = made("tr", undefined, unreliable(cell) ? "unreliable" : "");
      for (const label of cell.labels) row.append(made("th", label));
      for (const value of [cell.estimate, cell.se, cell.low, cell.high]) row.append(made("td", written(value), "number"));
      const chart = made("td"); chart.append(drawn(cell, least, most));
      row.append(chart, made("td", unreliable(cell) ? "unreliable" : "", "mark"));
      return row;
    }));
    at("result").hidden = false;
  }

  at("file").addEventListener("change", () => {
    const [file] = at("file").files;
    if (file) open(file).catch((error) => check(`The file cannot be read: ${error.message}`, false));
  });

  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    at("message").textContent = ""; at("result").hidden = true;
    const by = ["by1", "by2", "by3"].map((id) => at(id).value).filter(Boolean), statistic = at("statistic").value;
    try {
      if (new Set(by).size < by.length) throw new Error("Choose each column once.");
      const cells = statistic.startsWith("mean ")
        ? release.means(statistic.slice(5), by) : release.counts(by, {share: statistic === "share"});
      show(cells, by, statistic);
    } catch (error) { at("message").textContent = error.message; }
  });

  at("export").addEventListener("click", () => {
    const rows = [[...table.by, "estimate", "se", "low", "high"],
                  ...table.cells.map((cell) => [...cell.labels, cell.estimate, cell.se, cell.low, cell.high])];
    const link = made("a");
    link.href = URL.createObjectURL(new Blob([Papa.unparse(rows, {escapeFormulae: true})], {type: "text/csv"}));
    link.download = `${table.what} by ${table.by.join(" ")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
