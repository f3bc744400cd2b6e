// The state after a step, and one step back beside it: what a loop carries, before anything else of the step.

const STATES = ["mitmot", "mitsot", "sitsot", "carry"];

/** A table of the states for each run whose values were kept. */
function stateParts(loop, step) {
  const traces = data.traces.filter((each) => each.loop === loop.key);
  return traces.map((trace) => stateTable(loop, trace, step, traces.length > 1 ? ` in run ${trace.run}` : "")).filter(Boolean);
}

function stateTable(loop, trace, step, where) {
  const written = trace.variables.filter((each) => each.role === "output" && STATES.includes(loop.variables[each.variable]?.kind));
  const rows = written.map((each) => [each, stateAfter(trace, each, step - 1), stateAfter(trace, each, step)]);
  if (!rows.some(([, back, now]) => back || now)) return null;
  const name = (k) => (k < 0 ? "at the start" : `after step ${k}`);
  return table(`State after step ${step}${where}, and one step back`,
    [{ name: "state", heads: true }, { name: name(step - 1) }, { name: name(step) }, { name: "change", numeric: true }],
    rows.map(([each, back, now]) => [each.name, numbersIn(each, back), numbersIn(each, now), changeOf(each, back, now)]), { class: "state" });
}

/** What a state is after a step: what the step wrote, else what the next one read; null where the page holds neither. */
function stateAfter(trace, written, step) {
  const rowOf = (variable, at) => (at < 0 ? null : { statistics: variable.statistics[at], values: variable.values[at] });
  const own = rowOf(written, trace.steps.indexOf(step));
  if (own || written.tap) return own;
  const read = trace.variables.find((each) => each.role === "input" && each.variable === written.variable && (each.tap === -1 || each.tap === null));
  return read ? rowOf(read, trace.steps.indexOf(step + 1)) : null;
}

/** The numbers of a value, its mean first where it is more than one number. */
function numbersIn(variable, row) {
  if (!row) return element("span", { class: "note" }, "not in this page");
  const bad = row.statistics[3] > 0 || row.statistics[4] > 0;
  return element("span", { class: bad ? "bad" : null }, variable.shape.length ? element("span", { class: "note" }, `mean ${shown(row.statistics[2])}: `) : null, valueCells(row.values));
}

/** By how much a number changed, or the mean of several. */
function changeOf(variable, back, now) {
  if (!back || !now) return "–";
  if (JSON.stringify([back.statistics, back.values]) === JSON.stringify([now.statistics, now.values])) return "none visible"; // of the digits that the page holds
  const by = number(now.statistics[2]) - number(back.statistics[2]);
  return Number.isFinite(by) ? `${by < 0 ? "−" : "+"}${shown(Math.abs(by))}${variable.shape.length ? " (mean)" : ""}` : "–";
}
