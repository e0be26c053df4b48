"use strict";
/* Estimates from one release: the same numbers as `pramana estimate`, by the formulas that
   pramana's documentation derives. The description of the release stands in the page. */

const analyse = (() => {
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const product = (values) => values.reduce((a, b) => a * b, 1);
  const range = (n) => Array.from({length: n}, (_, i) => i);

  // -- the normal distribution ------------------------------------------------------------

  /** The probability above x: a series with positive terms, or a continued fraction far out. */
  function upperTail(x) {
    if (x < 0) return 1 - upperTail(-x);
    const y = x / Math.SQRT2;
    if (y < 2.5) {
      let term = y, total = y;
      for (let n = 1; term > total * 1e-18; n++) total += term *= 2 * y * y / (2 * n + 1);
      return 0.5 - total * Math.exp(-y * y) / Math.sqrt(Math.PI);
    }
    let fraction = 0;
    for (let n = 120; n > 0; n--) fraction = n / 2 / (y + fraction);
    return Math.exp(-y * y) / Math.sqrt(Math.PI) / (y + fraction) / 2;
  }

  function halved(low, high, tooLow) {
    for (let n = 0; n < 200 && low < high; n++) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      if (tooLow(middle)) low = middle; else high = middle;
    }
    return (low + high) / 2;
  }

  const quantile = (level) => halved(0, 40, (z) => upperTail(z) > (1 - level) / 2);

  // -- intervals ----------------------------------------------------------------------------

  const accepted = new Map();

  /** Original numbers up to z, in standard errors, and the estimates that each of them accepts. */
  function acceptance(z) {
    if (accepted.has(z)) return accepted.get(z);
    const size = 400, truth = [], least = [], most = [];
    for (let i = 0; i < size; i++) {
      const m = i === size - 1 ? z : 1e-3 * Math.pow(z / 1e-3, i / (size - 1));
      const other = (x) => Math.sqrt(Math.max(m * m - 2 * x * m, 0));
      let low = -1e3 * (1 + z * z), high = 0;
      for (let n = 0; n < 80; n++) {
        const middle = (low + high) / 2;
        const outside = upperTail(other(middle)) + upperTail(m - middle);
        if (outside > 2 * upperTail(z)) high = middle; else low = middle;
      }
      const x = (low + high) / 2;
      truth.push(m); least.push(x); most.push(m + other(x));
    }
    accepted.set(z, {truth, least, most});
    return accepted.get(z);
  }

  function interpolate(x, from, to, left) {
    if (x < from[0]) return left;
    const last = from.length - 1;
    if (x >= from[last]) return to[last];
    let low = 0, high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (from[middle] <= x) low = middle; else high = middle;
    }
    return to[low] + (to[high] - to[low]) / (from[high] - from[low]) * (x - from[low]);
  }

  /** The interval of a number that cannot be negative (Feldman and Cousins). */
  function boundedInterval(estimate, se, z) {
    if (!(se > 0)) return [estimate, estimate];
    const {truth, least, most} = acceptance(z), at = estimate / se;
    const low = at >= 2 * z ? at - z : interpolate(at, most, truth, 0);
    const high = at >= 0 ? at + z : interpolate(at, least, truth, truth[0]);
    return [low * se, high * se];
  }

  const FEW = 3, NOTHING = 1e-9, BORDER = 3, WIDER = 1;
  const halfRecord = (se, step) => se > 0 && se < FEW * step ? step / 2 : 0;
  const fewSeen = (variance, more, step) =>
    variance < (FEW * step) ** 2 * more * (1 + more) && more > NOTHING;

  /** How far a count can lie from its estimate where few records determine its error. */
  function unseen(variance, more, step, z) {
    if (!fewSeen(variance, more, step)) return -Infinity;
    const middle = z * z * more * step / 2;
    return middle + Math.sqrt(middle ** 2 + z * z * Math.max(variance, more * step * step)) + step / 2;
  }

  function nearer(variance, strangers, step, least, z) {
    const less = Math.max(-strangers, 0);
    if (!fewSeen(variance, less, step)) return Infinity;
    const middle = z * z * less * step / 2;
    const off = Math.sqrt(middle ** 2 + z * z * variance) - middle;
    return Math.max(off, z * Math.sqrt(least)) + (1 + less) * step / 2;
  }

  /** A ratio with its standard error and Fieller's interval. */
  function ratioOf(above, below, vAbove, cov, vBelow, z) {
    const value = below > 0 ? above / below : NaN;
    const se = Math.sqrt(Math.max(vAbove - 2 * value * cov + value ** 2 * vBelow, 0)) / below;
    const away = vBelow > 0 ? below / Math.sqrt(vBelow) : Infinity;
    const wide = z + WIDER * Math.min(Math.max((BORDER + 2 - away) / 2, 0), 1);
    const a = below ** 2 - wide ** 2 * vBelow, b = above * below - wide ** 2 * cov;
    const c = above ** 2 - wide ** 2 * vAbove, root = Math.sqrt(Math.max(b * b - a * c, 0));
    if (!(a > 0 && below > 0 && away >= BORDER))
      return {estimate: NaN, se: NaN, low: -Infinity, high: Infinity, value, spread: se};
    return {estimate: value, se, low: (b - root) / a, high: (b + root) / a, value, spread: se};
  }

  // -- matrices -----------------------------------------------------------------------------

  function inverted(rows) {
    const n = rows.length;
    const work = rows.map((row, i) => [...row, ...range(n).map((j) => (i === j ? 1 : 0))]);
    for (let at = 0; at < n; at++) {
      let best = at;
      for (let i = at + 1; i < n; i++) if (Math.abs(work[i][at]) > Math.abs(work[best][at])) best = i;
      [work[at], work[best]] = [work[best], work[at]];
      const scale = work[at][at];
      for (let j = 0; j < 2 * n; j++) work[at][j] /= scale;
      for (let i = 0; i < n; i++) {
        const times = work[i][at];
        if (i === at || times === 0) continue;
        for (let j = at; j < 2 * n; j++) work[i][j] -= times * work[at][j];
      }
    }
    return work.map((row) => row.slice(n));
  }

  /** The matrix of a step and its inverse; a uniform mixture has both in closed form. */
  function matrices(step) {
    const n = step.cells.length;
    if (step.rows) return [step.rows, inverted(step.rows)];
    const other = (1 - step.retention) / n;
    const mixed = (own, rest) => range(n).map((i) => range(n).map((j) => (i === j ? own : rest)));
    return [mixed(step.retention + other, other),
            mixed(1 / step.retention - other / step.retention, -other / step.retention)];
  }

  // -- tables -------------------------------------------------------------------------------

  /** Multiply one axis of a table by a matrix. */
  function along(table, place, matrix) {
    const before = product(table.shape.slice(0, place)), after = product(table.shape.slice(place + 1));
    const rows = table.shape[place], columns = matrix[0].length;
    const values = new Float64Array(before * columns * after);
    for (let i = 0; i < before; i++) for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const entry = matrix[r][c];
      if (entry === 0) continue;
      const from = (i * rows + r) * after, to = (i * columns + c) * after;
      for (let k = 0; k < after; k++) values[to + k] += entry * table.values[from + k];
    }
    return {shape: table.shape.map((size, at) => (at === place ? columns : size)), values};
  }

  const ones = (rows, columns) => range(rows).map(() => Array(columns).fill(1));
  const squared = (matrix) => matrix.map((row) => row.map((entry) => entry * entry));

  /** One axis of the released table: what was done to it, and to which group each cell belongs. */
  function axisOf(release, columns, step, by) {
    const asked = columns.map((name, at) => at).filter((at) => by.includes(columns[at]));
    const cells = step ? step.cells : range(release.column(columns[0]).size).map((code) => [code]);
    const groups = [], number = new Map(), members = cells.map((cell) => {
      const key = asked.map((at) => cell[at]).join();
      if (!number.has(key)) { number.set(key, groups.length); groups.push(asked.map((at) => cell[at])); }
      return number.get(key);
    });
    const merge = cells.map((_, i) => groups.map((__, g) => (members[i] === g ? 1 : 0)));
    const axis = {columns, cells, groups, asked: asked.map((at) => columns[at]), randomised: !!step, merge};
    if (!step) return {...axis, solve: merge};
    const [matrix, inverse] = matrices(step);
    const times = (a, b) => a.map((row) => b[0].map((_, j) => sum(row.map((entry, k) => entry * b[k][j]))));
    axis.solve = times(inverse, merge);
    const expected = times(matrix, squared(axis.solve));
    const among = (inside, worst, start) => groups.map((_, g) =>
      expected.reduce((found, row, i) => ((members[i] === g) === inside ? worst(found, row[g]) : found), start));
    return {...axis, most: among(true, Math.max, -Infinity), least: among(true, Math.min, Infinity),
            other: among(false, Math.max, -Infinity), fewest: among(false, Math.min, Infinity)};
  }

  function axesOf(release, by) {
    const axes = [], done = new Set();
    for (const name of by) {
      if (done.has(name)) continue;
      const step = release.steps.find((one) => one.columns.includes(name));
      const columns = step ? step.columns : [name];
      axes.push(axisOf(release, columns, step, by));
      columns.forEach((column) => done.add(column));
    }
    return axes;
  }

  /** Sums over the released records by cell: n, w, w^2 and, with a value, wy, w^2 y, w^2 y^2. */
  function summed(release, axes, of) {
    const shape = axes.map((axis) => axis.cells.length), size = product(shape);
    const names = of ? ["n", "w", "ww", "wy", "wwy", "wwyy"] : ["n", "w", "ww"];
    const sums = Object.fromEntries(names.map((name) => [name, {shape, values: new Float64Array(size)}]));
    const places = axes.map((axis) => {
      const found = new Map(axis.cells.map((cell, at) => [cell.join(), at]));
      const codes = axis.columns.map((name) => release.codes(name));
      return codes.length === 1
        ? (row) => (found.has(String(codes[0][row])) ? found.get(String(codes[0][row])) : -1)
        : (row) => { const at = found.get(codes.map((code) => code[row]).join()); return at === undefined ? -1 : at; };
    });
    const weights = release.weights(), values = of ? release.numbers(of) : null;
    for (let row = 0; row < release.rows; row++) {
      if (values && Number.isNaN(values[row])) continue;
      let cell = 0;
      for (let at = 0; at < axes.length && cell >= 0; at++) {
        const place = places[at](row);
        cell = place < 0 ? -1 : cell * shape[at] + place;
      }
      if (cell < 0) continue;
      const w = weights ? weights[row] : 1;
      sums.n.values[cell] += 1; sums.w.values[cell] += w; sums.ww.values[cell] += w * w;
      if (values) {
        const y = values[row];
        sums.wy.values[cell] += w * y; sums.wwy.values[cell] += w * w * y; sums.wwyy.values[cell] += w * w * y * y;
      }
    }
    return sums;
  }

  const ordered = (axes) => [...axes.keys()].sort((a, b) => axes[b].randomised - axes[a].randomised);
  const undone = (axes, table, change = (m) => m) =>
    ordered(axes).reduce((found, at) => along(found, at, change(axes[at].solve)), table);

  /** For each group the sum over all that it cannot be distinguished from. */
  function known(axes, table) {
    const whole = axes.reduce((found, axis, at) =>
      axis.randomised ? along(found, at, ones(found.shape[at], axis.groups.length)) : found, table);
    return axes.reduce((found, axis, at) => (axis.randomised ? found : along(found, at, axis.solve)), whole);
  }

  /** What one record counts for a group in expectation, squared: of the group, and of others. */
  function expectedOf(axes) {
    const cells = product(axes.map((axis) => axis.groups.length));
    return range(cells).map((cell) => {
      let found = [1, 1, 0, 1], rest = cell;
      const at = axes.map(() => 0);
      for (let i = axes.length - 1; i >= 0; i--) {
        at[i] = rest % axes[i].groups.length; rest = Math.floor(rest / axes[i].groups.length);
      }
      for (const i of ordered(axes)) {
        if (!axes[i].randomised) continue;
        const axis = axes[i], g = at[i], [most, least, outside, anyOne] = found;
        found = [most * axis.most[g], least * axis.least[g],
                 Math.max(outside * Math.max(axis.most[g], axis.other[g]), most * Math.max(axis.other[g], 0)),
                 anyOne * Math.min(axis.least[g], axis.fewest[g])];
      }
      return found;
    });
  }

  /** Lay cells of groups out by the columns asked for; impossible combinations hold zero. */
  function laidOut(release, axes, by, results) {
    const sizes = by.map((name) => release.column(name).size);
    const table = range(product(sizes)).map(() => null);
    results.forEach((result, cell) => {
      let rest = cell, codes = {};
      for (let i = axes.length - 1; i >= 0; i--) {
        const group = axes[i].groups[rest % axes[i].groups.length];
        rest = Math.floor(rest / axes[i].groups.length);
        axes[i].asked.forEach((name, k) => { codes[name] = group[k]; });
      }
      table[by.reduce((at, name, i) => at * sizes[i] + codes[name], 0)] = result;
    });
    const none = {estimate: 0, se: 0, low: 0, high: 0};
    return table.map((result, cell) => {
      let rest = cell; const labels = [];
      for (let i = by.length - 1; i >= 0; i--) {
        labels.unshift(release.column(by[i]).labels[rest % sizes[i]]); rest = Math.floor(rest / sizes[i]);
      }
      return {labels, ...(result || none)};
    });
  }

  // -- whole records: the matrices are undone -------------------------------------------------

  function wholeCounts(release, by, z, share) {
    const axes = axesOf(release, by), sums = summed(release, axes);
    const randomised = axes.some((axis) => axis.randomised);
    const estimate = undone(axes, sums.w).values, solved = undone(axes, sums.ww).values;
    const spread = undone(axes, sums.ww, squared).values;
    const people = known(axes, sums.w).values, squares = known(axes, sums.ww).values;
    const expected = expectedOf(axes), total = sum(Array.from(sums.w.values));
    const results = range(estimate.length).map((cell) => {
      const [most, least, outside, anyOne] = expected[cell];
      const each = randomised ? Math.max(Math.min(least - 1, anyOne), 0) : 0;
      const floor = (Number.isFinite(each) ? each : 0) * squares[cell];
      const variance = Math.max(spread[cell] - solved[cell], floor), se = Math.sqrt(variance);
      const step = squares[cell] / (people[cell] > 0 ? people[cell] : 1);
      const more = randomised ? Math.max(most - 1 - anyOne, 0) : 0;
      const strangers = randomised ? outside - (least - 1) : 0;
      let [low, high] = boundedInterval(estimate[cell], se, z);
      const half = halfRecord(se, step);
      low = Math.max(low - half, estimate[cell] - nearer(variance, strangers, step, floor, z));
      low = Math.max(Math.min(low, estimate[cell] - unseen(variance, Math.max(strangers, 0), step, z)), 0);
      high = Math.max(high + half, estimate[cell] + unseen(variance, more, step, z), low);
      const most2 = people[cell], of = share ? total : 1;
      return {estimate: estimate[cell] / of, se: se / of, low: Math.min(low, most2) / of, high: Math.min(high, most2) / of};
    });
    return laidOut(release, axes, by, results);
  }

  function wholeMeans(release, of, by, z) {
    const axes = axesOf(release, by), sums = summed(release, axes, of);
    const solve = (name) => undone(axes, sums[name]).values;
    const spread = (name) => undone(axes, sums[name], squared).values;
    const above = solve("wy"), below = solve("w");
    const variance = Object.fromEntries(["wwyy", "wwy", "ww"].map((name) => {
      const solved = solve(name);
      return [name, spread(name).map((value, cell) => value - solved[cell])];
    }));
    const around = Object.fromEntries(["wwyy", "wwy", "ww", "n"].map((name) => [name, known(axes, sums[name]).values]));
    const results = range(above.length).map((cell) => {
      const found = ratioOf(above[cell], below[cell], Math.max(variance.wwyy[cell], 0), variance.wwy[cell],
                            Math.max(variance.ww[cell], 0), z);
      const squares = around.wwyy[cell] - 2 * found.value * around.wwy[cell] + found.value ** 2 * around.ww[cell];
      const step = Math.sqrt(Math.max(squares, 0) / Math.max(around.n[cell], 1)) / below[cell];
      const half = halfRecord(found.se, step);
      return {estimate: found.estimate, se: found.se, low: found.low - half, high: found.high + half};
    });
    return laidOut(release, axes, by, results);
  }

  // -- attribute sampling: every report that holds the columns, by its precision -----------------

  /** Sums of the reports of each set by group of unchanged columns and by cell of the others. */
  function reports(release, by, of) {
    const changed = by.filter((name) => release.column(name).randomised);
    const unchanged = by.filter((name) => !release.column(name).randomised);
    const sizes = (names) => names.map((name) => release.column(name).size);
    const groups = product(sizes(unchanged)), cells = product(sizes(changed));
    const used = release.sets.filter((set) => changed.every((name) => set.columns.includes(name)));
    if (!used.length) throw new Error(`No set of columns that was asked for holds ${changed.join(" and ")} together. Choose fewer columns.`);
    const empty = () => ({n: new Float64Array(groups * cells), w: new Float64Array(groups * cells), ww: new Float64Array(groups * cells),
                          wy: new Float64Array(groups * cells), wwy: new Float64Array(groups * cells), wwyy: new Float64Array(groups * cells)});
    const parts = used.map(empty), everyone = new Float64Array(groups);
    const number = new Map(used.map((set, at) => [set.name, at])), reported = release.raw("reported");
    const before = unchanged.map((name) => release.codes(name)), within = changed.map((name) => release.codes(name));
    const beforeSizes = sizes(unchanged), withinSizes = sizes(changed);
    const weights = release.weights(), values = of ? release.numbers(of) : null;
    let whole = 0;
    for (let row = 0; row < release.rows; row++) {
      if (values && Number.isNaN(values[row])) continue;
      const w = weights ? weights[row] : 1;
      let group = 0;
      for (let i = 0; i < before.length; i++) group = group * beforeSizes[i] + before[i][row];
      everyone[group] += 1; whole += w;
      const at = number.get(reported[row]);
      if (at === undefined) continue;
      let cell = 0;
      for (let i = 0; i < within.length; i++) cell = cell * withinSizes[i] + within[i][row];
      const place = group * cells + cell, part = parts[at], y = values ? values[row] : 0;
      part.n[place] += 1; part.w[place] += w; part.ww[place] += w * w;
      part.wy[place] += w * y; part.wwy[place] += w * w * y; part.wwyy[place] += w * w * y * y;
    }
    const bases = used.map((set) => {
      if (!set.cells) return Array(cells).fill(1 / cells);
      const base = Array(cells).fill(0), places = changed.map((name) => set.columns.indexOf(name));
      for (const label of set.cells)
        base[places.reduce((cell, place, i) => cell * withinSizes[i] + label[place], 0)] += 1 / set.cells.length;
      return base;
    });
    return {changed, unchanged, groups, cells, used, parts, everyone, bases, whole};
  }

  const NAMES = ["n", "w", "ww", "wy", "wwy", "wwyy"];

  /** Unbiased totals of one function of the records, with variances, for a group and a cell. */
  function totalsOf(found, first, second) {
    return range(found.groups * found.cells).map((place) => {
      const group = Math.floor(place / found.cells), cell = place % found.cells, people = found.everyone[group];
      const parts = found.used.map((set, at) => {
        const every = Object.fromEntries(NAMES.map((name) => {
          let value = 0;
          for (let c = 0; c < found.cells; c++) value += found.parts[at][name][group * found.cells + c];
          return [name, value];
        }));
        const own = Object.fromEntries(NAMES.map((name) => [name, found.parts[at][name][place]]));
        const p = set.retention, n = Math.max(every.n, 1), base = found.bases[at][cell], noise = (1 - p) * base;
        const squares = second(every), total = first(every);
        return {p, n, base, noise, precision: every.n * p * p, squares: squares / n,
                first: (first(own) - noise * total) / (p * n), second: (second(own) - noise * squares) / (p * n),
                step: Math.sqrt(squares / n) / (p * n)};
      });
      const whole = sum(parts.map((part) => part.precision));
      if (whole === 0) return {total: NaN, people: NaN, population: NaN, step: 0};
      const mean = (name) => sum(parts.map((part) => part.precision / whole * part[name]));
      const level = mean("first"), square = Math.max(mean("second"), level ** 2);
      const cross = mean("second"), squares = mean("squares");
      const drawn = sum(parts.map((part) => {
        const seenSecond = part.p * square + (1 - part.p) * part.base * squares;
        const seenCross = part.p * cross + part.noise * squares;
        const raw = (seenSecond - 2 * part.noise * seenCross + part.noise ** 2 * squares) / part.p ** 2 - level ** 2;
        return (part.precision / whole) ** 2 * Math.max(raw, 0) / part.n;
      }));
      const among = Math.max(square - level ** 2, 0);
      return {total: people * level, people: people ** 2 * Math.max(drawn - among / people, 0), population: people ** 2 * drawn,
              step: people * Math.max(...parts.map((part) => part.precision / whole * part.step))};
    });
  }

  function reportedCells(release, found, by, results) {
    const names = [...found.unchanged, ...found.changed], sizes = names.map((name) => release.column(name).size);
    const asked = by.map((name) => release.column(name).size);
    const table = Array(results.length);
    results.forEach((result, cell) => {
      let rest = cell; const codes = {};
      for (let i = names.length - 1; i >= 0; i--) { codes[names[i]] = rest % sizes[i]; rest = Math.floor(rest / sizes[i]); }
      const labels = by.map((name) => release.column(name).labels[codes[name]]);
      table[by.reduce((at, name, i) => at * asked[i] + codes[name], 0)] = {labels, ...result};
    });
    return table;
  }

  function sampledCounts(release, by, z, share) {
    const found = reports(release, by), totals = totalsOf(found, (s) => s.w, (s) => s.ww);
    const most = release.weight ? Infinity : null, of = share ? found.whole : 1;
    const results = totals.map((cell, place) => {
      const se = Math.sqrt(cell.people), half = halfRecord(se, cell.step);
      let [low, high] = boundedInterval(cell.total, se, z);
      const limit = most === null ? found.everyone[Math.floor(place / found.cells)] : most;
      low = Math.min(Math.max(low - half, 0), limit); high = Math.min(high + half, limit);
      return {estimate: cell.total / of, se: se / of, low: low / of, high: high / of};
    });
    return reportedCells(release, found, by, results);
  }

  function sampledMeans(release, of, by, z) {
    const found = reports(release, by, of);
    const counts = totalsOf(found, (s) => s.w, (s) => s.ww), totals = totalsOf(found, (s) => s.wy, (s) => s.wwyy);
    const size = sum(totals.map((cell) => Math.abs(cell.total)).filter((value) => !Number.isNaN(value)));
    const step = size && found.whole ? size / found.whole : 1;
    const moved = totalsOf(found, (s) => s.wy - step * s.w, (s) => s.wwyy - 2 * step * s.wwy + step * step * s.ww);
    const results = totals.map((cell, place) => {
      const above = cell.people, below = counts[place].people;
      const cov = (above + step * step * below - moved[place].people) / (2 * step);
      return ratioOf(cell.total, counts[place].total, above, cov, below, z);
    });
    return reportedCells(release, found, by, results);
  }

  // -- a release ----------------------------------------------------------------------------

  const MOST_VALUES = 200;

  /** An unbiased count may be negative: the interval takes it in. */
  const containing = (cell) => ({...cell, low: Math.min(cell.low, cell.estimate), high: Math.max(cell.high, cell.estimate)});

  /** The description of the release and the columns that were read, by name. */
  class Release {
    constructor(description, columns) {
      Object.assign(this, description, {data: columns, file: description.data});
      this.rows = columns[Object.keys(columns)[0]].length;
      this.cache = new Map();
    }

    raw(name) { return this.data[name]; }

    describe(name) {
      const column = this.columns.find((one) => one.name === name);
      if (!column) throw new Error(`The release has no column '${name}'.`);
      return column;
    }

    /** A column with its labels and, for each record, the code of its value. */
    column(name) {
      if (this.cache.has(name)) return this.cache.get(name);
      const own = this.describe(name), key = keyOf(own), raw = this.data[name];
      let values = own.values, labels = own.labels, place;
      if (own.edges) place = (value) => inBin(own, value);
      else {
        if (!values) [values, labels] = occurring(own, raw, key);
        const number = new Map(values.map((value, code) => [key(value), code]));
        place = (value) => { const code = number.get(key(value)); return code === undefined ? -1 : code; };
      }
      const codes = Int32Array.from(raw, place);
      const made = {...own, labels, size: labels.length, codes};
      this.cache.set(name, made);
      return made;
    }

    codes(name) { return this.column(name).codes; }
    numbers(name) { return Float64Array.from(this.data[name], number); }
    weights() { return this.weight ? this.numbers(this.weight) : null; }

    counts(by, {share = false, level = 0.95} = {}) {
      const z = quantile(level), sampled = this.sets && by.some((name) => this.describe(name).randomised);
      return (sampled ? sampledCounts : wholeCounts)(this, by, z, share).map(containing);
    }

    means(of, by, {level = 0.95} = {}) {
      if (!this.describe(of).numeric) throw new Error(`'${of}' is randomised: ask for its table instead.`);
      const z = quantile(level), sampled = this.sets && by.some((name) => this.describe(name).randomised);
      return (sampled ? sampledMeans : wholeMeans)(this, of, by, z);
    }
  }

  const number = (value) => {
    if (value === null || value === undefined || value === "") return NaN;
    return Number(value);
  };

  /** Values of one column are compared as numbers or as texts, whatever a format makes of them. */
  function keyOf(column) {
    return (value) => {
      if (value === null || value === undefined || (value === "" && column.type !== "text")) return "missing";
      if (column.type === "number") return `=${Number(value)}`;
      return `=${value instanceof Date ? value.toISOString().slice(0, 10) : value}`;
    };
  }

  function inBin(column, value) {
    const {edges, apart = []} = column, y = number(value), last = edges.length - 1;
    if (Number.isNaN(y)) return column.labels.length - 1;
    const own = apart.indexOf(y);
    if (own >= 0) return last + own;
    if (y === edges[last]) return last - 1;
    return edges.findIndex((edge) => y < edge) - 1;
  }

  function occurring(column, raw, key) {
    const found = new Map();
    for (const value of raw) {
      const at = key(value);
      if (!found.has(at)) found.set(at, value);
      if (found.size > MOST_VALUES) throw new Error(`'${column.name}' has more than ${MOST_VALUES} different values: choose another column.`);
    }
    const missing = found.delete("missing");
    const values = [...found.values()].sort((a, b) => (column.type === "number" ? Number(a) - Number(b) : String(a) < String(b) ? -1 : 1));
    const labels = values.map((value) => (column.named || {})[String(value)] || String(value));
    return missing ? [[...values, null], [...labels, "missing"]] : [values, labels];
  }

  // -- guarantees from the integers of the matrices --------------------------------------------

  /** The largest ratio of probabilities of one released record, as an exact fraction. */
  function amplification(release) {
    const all = 2n ** 64n, of = (one) => [all - (BigInt(one.size) - 1n) * BigInt(one.other), BigInt(one.other)];
    const parts = release.guarantee.mixtures.map(of);
    if (release.sets) return parts.reduce((worst, part) => (part[0] * worst[1] > worst[0] * part[1] ? part : worst), [1n, 1n]);
    return parts.reduce((whole, part) => [whole[0] * part[0], whole[1] * part[1]], [1n, 1n]);
  }

  /** Check k and epsilon as asked; null where they are not among the targets. */
  function guarantees(release) {
    const [above, below] = amplification(release), found = [];
    const {k, epsilon, people} = release.guarantee;
    if (k) {
      const scale = 1000000000n, asked = BigInt(Math.ceil((k - 1) * 1e9));
      const holds = BigInt(people - 1) * below * below * scale >= asked * above * above;
      found.push({name: `k = ${k}`, holds});
    }
    if (epsilon) {
      const digits = 10n ** 17n, gamma = Number(above * digits / below) / 1e17;
      found.push({name: `epsilon = ${epsilon}`, holds: Math.log(gamma) <= epsilon * (1 + 1e-12)});
    }
    return found;
  }

  async function digest(buffer) {
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  async function read(buffer, format) {
    const columns = {};
    if (format === "parquet") {
      const rows = await hyparquet.parquetReadObjects({file: buffer});
      for (const name of Object.keys(rows[0] || {})) columns[name] = rows.map((row) => row[name]);
    } else {
      const rows = Papa.parse(new TextDecoder().decode(buffer), {skipEmptyLines: true}).data;
      rows[0].forEach((name, at) => { columns[name] = rows.slice(1).map((row) => (row[at] === "" ? null : row[at])); });
    }
    return columns;
  }

  return {Release, guarantees, digest, read, quantile, upperTail};
})();
