// Steps: how long each took, with a cursor that every other view follows.

const REASONS = ["every k-th", "first", "last", "slowest"];

function stepsView() {
  const loop = loopOf(state.loop);
  if (!loop || !loop.series.length) return element("p", {}, "No single steps of this loop were kept.");
  const runs = [...new Set(loop.series.map((row) => row[0]))];
  const box = element("div", {});
  const selected = element("select", { id: "run" }, element("option", { value: "" }, "all runs"),
    runs.map((each) => element("option", { value: each }, `run ${each}`)));
  const apart = loop.step_times.max_ns > 30 * loop.step_times.p50_ns; // on an even scale one step would flatten all others
  const logarithmic = element("input", { type: "checkbox", id: "logarithmic", checked: apart });
  const draw = () => box.replaceChildren(...stepsOf(loop, selected.value === "" ? null : Number(selected.value), logarithmic.checked));
  selected.addEventListener("change", draw);
  logarithmic.addEventListener("change", draw);
  draw();
  return element("div", {}, element("h2", {}, `Steps of ${loop.name}`),
    element("div", { class: "controls" }, element("label", {}, "Run ", selected), element("label", {}, logarithmic, " logarithmic")), box);
}

function stepsOf(loop, run, logarithmic) {
  const rows = loop.series.filter((row) => run === null || row[0] === run);
  const covers = coversOf(loop);
  const points = rows.flatMap((row) => Array.from({ length: Math.min(64, covers.get(row)) }, (_, k) => ({ x: row[1] + Math.floor((k * covers.get(row)) / Math.min(64, covers.get(row))), y: row[2], why: row[3] }))).sort((a, b) => a.x - b.x);
  const slow = rows.reduce((best, row) => (row[2] > best[2] ? row : best), rows[0]);
  const label = `Time of ${points.length} steps of ${loop.name}, from ${duration(loop.step_times.min_ns)} to ${duration(loop.step_times.max_ns)}, median ${duration(medianStepNs(loop))}. Arrows move the cursor, plus and minus zoom, 0 shows all.`;
  const chart = new Chart(label, points, (step) => choose({ step }));
  chart.logarithmic = logarithmic;
  chart.cursor = state.step;
  chart.draw();
  const about = element("p", { class: "about" });
  const follow = (changed) => {
    if (!chart.svg.isConnected || !changed.includes("step")) return;
    chart.cursor = state.step;
    chart.draw();
    about.textContent = aboutStep(loop, rows);
  };
  listeners.push(follow);
  about.textContent = aboutStep(loop, rows);
  return [
    chart.svg,
    element("div", { class: "controls" },
      button("slowest step", () => choose({ step: slow[1] })), button("zoom in", () => chart.zoom(0.6)),
      button("zoom out", () => chart.zoom(1.7)), button("all", () => chart.show(...chart.whole)),
      button("values of this step", () => choose({ view: "player" }))),
    about,
    element("p", { class: "note" }, `${keptInWords(loop)} p95 ${duration(Math.max(medianStepNs(loop), loop.step_times.p95_ns))}, p99 ${duration(Math.max(medianStepNs(loop), loop.step_times.p99_ns))}.${loop.blocks ? ` ${count(loop.block_steps)} steps were timed in ${loop.blocks === 1 ? "1 block" : `${count(loop.blocks)} blocks`}: the time of one is its block's average.` : ""}`),
    element("details", {}, element("summary", {}, "the 20 slowest as a table"),
      table("Slowest steps", [{ name: "step", numeric: true }, { name: "run", numeric: true }, { name: "time", numeric: true }, { name: "kept as" }],
        [...rows].sort((a, b) => b[2] - a[2]).slice(0, 20).map((row) => [
          button(covers.get(row) === 1 ? String(row[1]) : `${row[1]}–${row[1] + covers.get(row) - 1}`, () => choose({ step: row[1] }), { class: "link" }), row[0], duration(row[2]), REASONS[row[3]]]))),
  ];
}

/** Which steps the chart shows. */
function keptInWords(loop) {
  const [steps, kept] = [loop.steps, loop.series.length];
  if (kept === steps) return `All ${count(steps)} steps are kept; the slowest are ◆.`;
  const others = loop.series_stride === 1 ? "all others that have a time" : `one in ${count(loop.series_stride)} of the others`;
  return `Of ${count(steps)} steps ${count(kept)} are kept: the first, the last, the slowest (◆), and ${others}.`;
}

function aboutStep(loop, rows) {
  const covers = coversOf(loop);
  const here = rows.filter((row) => row[1] <= state.step && state.step < row[1] + covers.get(row));
  const heavy = slowestOperation(loop);
  const most = heavy ? ` Most of all steps is ${heavy.label}${heavy.source ? ` (${place(heavy.source)})` : ""}: ${duration(heavy.total_ns)}.` : "";
  if (!here.length) return `Step ${state.step} was not kept.${most}`;
  const times = here.map((row) => `${duration(row[2])} in run ${row[0]}${covers.get(row) === 1 ? "" : ` (average of ${stepsInWords(row[1], covers.get(row))})`}`).slice(0, 6).join(", ");
  return `Step ${state.step}: ${times}.${most}`;
}
