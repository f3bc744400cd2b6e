// Elements, numbers and the state that all views share.

const data = JSON.parse(document.getElementById("data").textContent);

/** The element of a picture: shapes have ids that users chose, such as `data`, so it is looked for at its own place alone. */
const drawingOf = (picture) => document.querySelector(`#drawings > [id="${picture.element}"]`);

/** A command about this profile, with the name of its file. */
const ownCommand = (command) => command.replace("FILE", () => data.file);

/** Return a new element. Text is always text: nothing from the data is ever read as HTML. */
function element(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) made.append(child);
  }
  return made;
}

/** Cells of tables that are sorted by a number: a duration, a count. */
const timeCell = (ns) => ({ show: duration(ns), by: ns });
const countCell = (value) => ({ show: count(value), by: value });

/**
 * Return a table. Columns are {name, numeric, heads, wide}: what heads a row is its name, what is wide is left out on a phone.
 * Cells are text, elements, or {show, by}: a column of those sorts the table by a click on its head.
 * Rows beyond `most` wait behind a button.
 */
function table(caption, columns, rows, { most = Infinity, ...attributes } = {}) {
  const all = rows.map((row) => (Array.isArray(row) ? { cells: row } : row));
  const of = (column) => [column.numeric ? "number" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ") || null;
  const heading = Math.max(0, columns.findIndex((each) => each.heads));
  const made = all.map(({ cells, ...rest }) => element("tr", rest, cells.map((cell, k) =>
    element(k === heading ? "th" : "td", { scope: k === heading ? "row" : null, class: of(columns[k]) }, cell?.show ?? cell))));
  const body = element("tbody", {}, made);
  const sorts = (k) => all.some(({ cells }) => cells[k]?.by !== undefined);
  const head = columns.map((each, k) => element("th", { scope: "col", class: of(each) },
    sorts(k) ? button(each.name, () => sortRows(k), { class: "sort" }) : each.name));
  const fold = (least) => made.forEach((row) => { row.hidden = least !== null && [...body.children].indexOf(row) >= least; });
  const sortRows = (k) => {
    const down = head[k].getAttribute("aria-sort") !== "descending";
    head.forEach((each, at) => (at === k ? each.setAttribute("aria-sort", down ? "descending" : "ascending") : each.removeAttribute("aria-sort")));
    const by = (row) => all[made.indexOf(row)].cells[k]?.by ?? -Infinity;
    body.replaceChildren(...[...made].sort((a, b) => (down ? by(b) - by(a) : by(a) - by(b))));
    if (more?.isConnected) fold(most);
  };
  const more = made.length > most ? button(`${made.length - most} more`, () => { fold(null); more.remove(); }, { class: "more" }) : null;
  if (more) fold(most);
  return element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": caption },
    element("table", attributes, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), body), more);
}

/** Return a duration in words: three digits and a unit. */
function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (Math.abs(ns) >= size) return `${digits(ns / size)} ${unit}`;
  }
  return `${digits(ns)} ns`;
}

function digits(value) {
  if (value === 0) return "0";
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.max(0, Math.min(2, 3 - whole)));
}

function bytes(count) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (count >= size) return `${digits(count / size)} ${unit}`;
  }
  return `${count} B`;
}

const count = (value) => Number(value).toLocaleString("en-US");
/** Rates are in billions, so that they are compared at a glance. */
const rate = (unit) => (aSecond) => `${aSecond >= 99.5e6 ? digits(aSecond / 1e9) : (aSecond / 1e9).toFixed(3)} ${unit}`;
const quantity = { ns: duration, bytes, count, "bytes/s": rate("GB/s"), "flops/s": rate("GFLOP/s") };
const percent = (part) => (part > 0 && part < 0.0005 ? "<0.1 %" : `${(100 * part).toFixed(part >= 0.1 ? 0 : 1)} %`);
/** Numbers that JSON cannot hold come as text. */
const number = (value) => (typeof value === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] : value);
const shown = (value) => {
  const found = number(value);
  if (Number.isNaN(found)) return "NaN";
  if (!Number.isFinite(found)) return found > 0 ? "inf" : "-inf";
  return Math.abs(found) >= 1e5 || (found !== 0 && Math.abs(found) < 1e-3) ? found.toExponential(2) : String(Number(found.toPrecision(4)));
};
const place = (source) => (source ? `${source.file}:${source.line}` : "");
/** Return a path, or the name of loops that became one, as parts between which a line may break. */
const breakable = (path) => path.split(/(?<=[/\\&])/).flatMap((part, k) => (k ? [element("wbr"), part] : [part]));
/** Return a sentence with what stands between backquotes as code. */
const marked = (text) => text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));
const loopOf = (key) => data.loops.find((each) => each.key === key);
const functionOf = (key) => data.functions.find((each) => each.key === key);

/** Announce a text to screen readers. */
function announce(text) {
  document.getElementById("said").textContent = text;
}

/** What is chosen: view, loop, step, rewrite. Views listen to what they show. */
const state = { view: "report", loop: null, step: 0, rewrite: 0, port: null };
const listeners = [];

function choose(change) {
  const changed = Object.keys(change).filter((name) => state[name] !== change[name]);
  if (!changed.length) return;
  Object.assign(state, change);
  for (const each of listeners) each(changed);
  keepAddress();
}

/** Let the address lead to what is shown. */
function keepAddress() {
  const kept = new URLSearchParams({ view: state.view, loop: state.loop ?? "", step: state.step, rewrite: state.rewrite, open: loopsOpen ? 1 : 0 });
  history.replaceState(null, "", `#${kept}`);
}

/** Return a button that does something. */
function button(text, act, attributes = {}) {
  return element("button", { type: "button", onclick: act, ...attributes }, text);
}

/** Return the key of a step of the forward loop to which a step of back-propagation belongs, or null. */
function forwardStep(loop, step, steps) {
  return loop.gradient_of === null ? null : steps - 1 - step;
}
