// The report: where the time went, function by function and loop by loop.

function reportView() {
  const parts = [];
  if (data.run.outcome.status !== "ok") parts.push(element("p", { class: "warning" }, outcomeText(data.run.outcome)));
  for (const each of data.notes) parts.push(element("p", { class: "note" }, each));
  parts.push(verdictPart());
  parts.push(wholeRun());
  parts.push(rooflinePart());
  parts.push(originsPart());
  parts.push(...loopsAndOutside());
  for (const each of data.functions) parts.push(functionPart(each));
  parts.push(adviceView());
  const overhead = `Profiler overhead of ${duration(data.parts.overhead_ns)} is in none of these figures.`;
  const busy = data.run.off_cpu ? ` The run was ${data.run.off_cpu}: wall time overstates the work.` : "";
  parts.push(element("p", { class: "note" }, overhead, busy));
  return element("div", {}, parts);
}

function outcomeText(outcome) {
  const code = outcome.code === null ? "" : ` (exit code ${outcome.code})`;
  return `The run ended by ${outcome.status}${code}${outcome.message ? `: ${outcome.message}` : ""}. The page shows the record until then.`;
}

/** The run in a few sentences, each with a link to its details. */
function verdictPart() {
  if (!data.verdict.length && !data.to_try) return null;
  return element("section", { class: "verdict", "aria-label": "verdict" },
    data.verdict.map((each) => element("p", {}, marked(each.text), " ", verdictLink(each))),
    data.to_try ? element("p", {}, data.to_try, " ",
      button("advice", () => document.querySelector("[aria-label='advice']").scrollIntoView(), { class: "link" })) : null);
}

/** A link from a sentence of the verdict to its details. */
function verdictLink(sentence) {
  const { topic, loop, step, source } = sentence;
  const to = (text, change) => button(text, () => choose(change), { class: "link" });
  if (topic === "rewriting") {
    const own = data.loops.find((each) => each.function === sentence.function);
    return to("rewrites", { view: "rewrites", loop: own?.key ?? state.loop });
  }
  if (step !== null) return to(`step ${step}`, { view: "player", loop, step });
  if (loop !== null) return to("steps", { view: "steps", loop });
  return source ? button("line", () => showLine(source), { class: "link" }) : null;
}

const SHARE = [{ name: "of the run", numeric: true }, { name: "time", numeric: true }];

/** Which part of the run a time is. */
const ofRun = (ns) => ns / Math.max(1, data.parts.whole_ns);

/** The cells of a part of the run: its share, with a bar, and its time. */
function shareCells(ns) {
  return [{ show: bar(ofRun(ns)), by: ns }, timeCell(ns)];
}

/** What the run was spent on: one bar that is the whole, rows that add up to it, by what they are and by line. */
function wholeRun() {
  const { whole_ns: whole, totals, gone } = data.parts;
  return element("section", { "aria-label": "the whole run" },
    element("h2", {}, `Where the time goes: ${duration(whole)}`),
    element("div", { class: "whole", "aria-hidden": "true" }, totals.map((row, k) =>
      element("span", { class: `part part-${k}`, style: `flex-grow:${row.total_ns}`, title: `${row.title} ${percent(ofRun(row.total_ns))}` }))),
    element("div", { class: "sides" },
      table("Parts of the run", [...SHARE, { name: "part", heads: true }],
        totals.map((row, k) => [...shareCells(row.total_ns), [element("span", { class: `key part-${k}`, "aria-hidden": "true" }), row.title]])),
      byLine()),
    gone.length ? element("p", {}, "Loops that rewrites removed:") : null,
    gone.length ? element("ul", {}, gone.map((loop) => element("li", {}, marked(loop.words), loop.total_ns ? `, ${duration(loop.total_ns)}` : ""))) : null);
}

/** Loops and what is outside of them, first what took more. */
function loopsAndOutside() {
  const sum = (parts) => parts.reduce((all, part) => all + part.total_ns, 0);
  const most = data.loops.filter((loop) => loop.parent === null);
  return sum(data.parts.outside) > sum(most) ? [outsidePart(), answers()] : [answers(), outsidePart()];
}

function outsidePart() {
  const { outside } = data.parts;
  const rates = data.measures.filter((one) => outside.some((each) => one.name in each.measures));
  return outside.length ? table("Operations outside of loops", [...SHARE, { name: "operation", heads: true }, { name: "line" }, { name: "moved out of", wide: true }, ...rateColumns(rates)],
      outside.map((one) => [...shareCells(one.total_ns), one.label, lineButton(one.source),
        one.moved_from ? `${one.moved_from}${one.rule ? ` (${one.rule})` : ""}` : "", ...rateCells(rates, one)]), { most: 5 }) : null;
}

/** The user's lines with the time of what they built, slowest first. */
function byLine() {
  return table("Time by line", [...SHARE, { name: "line", heads: true }, { name: "code" }],
    data.parts.lines.map((row) => [...shareCells(row.total_ns), row.source ? lineButton(row.source) : "no line", row.source ? element("code", {}, row.source.text) : ""]),
    { most: 7 });
}

/** Columns of numbers that were measured of operations, and their cells. */
const rateColumns = (rates) => rates.map((one) => ({ name: one.title, numeric: true, wide: true }));
const rateCells = (rates, operation) => rates.map((one) => (one.name in operation.measures
  ? { show: quantity[one.unit](operation.measures[one.name]), by: operation.measures[one.name] } : { show: "–", by: -1 }));

/** How far operations are from what the machine can do, where its limits were measured. */
function rooflinePart() {
  const { limits, operations } = data.roofline;
  if (!operations.length) return null;
  const name = (one) => (one.loop === null ? "–" : loopOf(one.loop).name);
  return element("details", { "aria-label": "limits of the machine" },
    element("summary", {}, `limits of the machine (${operations.length} operations)`),
    element("p", {}, "Measured after the run: ", limits.map((one, k) => [k ? ", " : "", element("span", { title: one.about }, `${one.title} ${quantity[one.unit](one.value)}`)]), "."),
    table("The least time that operations need on this machine", [{ name: "operation" }, { name: "in" }, { name: "takes", numeric: true },
      { name: "at least", numeric: true }, { name: "reaches", numeric: true }, { name: "bound by" }, { name: "line" }],
      operations.map((one) => [one.label, name(one), duration(one.typical_ns), duration(one.least_ns), bar(one.reached), one.kind, lineButton(one.source)])));
}

/** The profiles that this one was merged from. */
function originsPart() {
  if (!data.run.origins.length) return null;
  const rows = data.run.origins.map((each) => ({
    cells: [each.name, [each.script, ...each.arguments].join(" "), duration(each.wall_ns), (each.outcome.status === "ok" && each.outcome.message) || each.outcome.status],
  }));
  return table("Merged from", [{ name: "origin" }, { name: "script" }, { name: "time", numeric: true }, { name: "ended" }], rows);
}

/** The first things that one asks, each with the place where it is answered. */
function answers() {
  const loops = [...data.loops].sort((a, b) => b.total_ns - a.total_ns);
  const rows = loops.map((loop) => {
    const slow = slowestStep(loop);
    const origin = data.functions.find((each) => each.key === loop.function)?.origin ?? "";
    const heavy = slowestOperation(loop);
    return {
      "data-loop": loop.key,
      cells: [
        ...shareCells(loop.total_ns),
        button(breakable(loop.name), () => choose({ loop: loop.key, view: "steps" }), { class: "link" }),
        ...(data.run.origins.length ? [origin] : []),
        loop.steps ? timeCell(medianStepNs(loop)) : "–", countCell(loop.steps), countCell(loop.runs),
        slow ? button(`${stepsInWords(slow[1], coversOf(loop).get(slow))}: ${duration(slow[2])}`, () => choose({ loop: loop.key, step: slow[1], view: "steps" }), { class: "link" }) : "–",
        heavy ? `${heavy.label} (${percent(ofRun(heavy.total_ns))} of the run)` : "–",
        heavy ? lineButton(heavy.source) : "",
      ],
    };
  });
  return table("Loops, slowest first", [
    ...SHARE, { name: "loop", heads: true }, ...(data.run.origins.length ? [{ name: "origin", wide: true }] : []),
    { name: "per step (median)", numeric: true }, { name: "steps", numeric: true, wide: true }, { name: "runs", numeric: true, wide: true },
    { name: "slowest step", wide: true }, { name: "most of its time", wide: true }, { name: "line" },
  ], rows, { most: 12 });
}

// Of how many steps each row of a series is: blocks of steps have one time, their average.
function coversOf(loop) {
  return new Map(loop.series.map((row, k) => [row, loop.series_covers?.length ? loop.series_covers[k] : 1]));
}

function stepsInWords(step, count) {
  return count === 1 ? `step ${step}` : `steps ${step}–${step + count - 1}`;
}

function slowestStep(loop) {
  return loop.series.reduce((best, row) => (best === null || row[2] > best[2] ? row : best), null);
}

/** The median step: of few nanoseconds with fractions, where it is the typical one. */
function medianStepNs(loop) {
  const typical = loop.body_ns + loop.copy_ns + loop.overhead_ns;
  return loop.step_times.p50_ns < 10 && Math.abs(typical - loop.step_times.p50_ns) <= 0.5 ? typical : loop.step_times.p50_ns;
}

/** The operation that takes most of all steps; null where none has a time. */
function slowestOperation(loop) {
  const timed = loop.operations.filter((each) => each.total_ns > 0);
  return timed.reduce((best, each) => (best === null || each.total_ns > best.total_ns ? each : best), null);
}

function lineButton(source) {
  return source ? button(breakable(place(source)), () => showLine(source), { class: "link", title: source.text }) : "";
}

function functionPart(each) {
  const loops = data.loops.filter((loop) => loop.function === each.key).sort((a, b) => b.total_ns - a.total_ns);
  const built = Object.entries(each.build_ns).map(([stage, ns]) => `${stage} ${duration(ns)}`).join(", ");
  const operations = [...each.operations].filter((one) => one.samples).sort((a, b) => b.total_ns - a.total_ns);
  const title = /^function at /.test(each.name) ? each.name : `function ${each.name}`; // one without a name is called by its line
  return element("section", { "aria-label": title },
    element("h2", {}, title, each.origin ? ` from ${each.origin}` : "", " ", lineButton(each.source)),
    element("p", {}, each.off_cpu ? element("strong", {}, `${each.off_cpu}; `) : null, `${count(each.calls)} ${each.calls === 1 ? "call" : "calls"}, ${duration(each.call_times.total_ns)} on ${each.backend}; first call ${duration(each.first_ns)}`,
      each.heading.map((one) => ["; ", element("span", { title: one.about }, `${one.title} ${quantity[one.unit](one.value)}`)]),
      each.errors ? `; ${count(each.errors)} ended by an error` : "", built ? `; built in: ${built}` : ""),
    element("ul", { class: "tree" }, loops.filter((loop) => loop.parent === null).map((loop, k) => loopItem(loop, loops, k < MOST_OPEN))),
    operations.length ? element("details", {}, element("summary", {}, `operations outside of loops (${operations.length})`),
      operationTable(`Operations of ${each.name}`, operations)) : null);
}

const MOST_OPEN = 3; // loops of a function whose operations are seen at once, the slowest

function loopItem(loop, loops, open) {
  const forward = loop.gradient_of !== null ? loopOf(loop.gradient_of) : null;
  const inner = loops.filter((each) => each.parent === loop.key);
  return element("li", {},
    element("details", { open },
      element("summary", {}, element("strong", {}, loop.name), ` ${duration(loop.total_ns)} (${percent(ofRun(loop.total_ns))} of the run), ${count(loop.steps)} steps`),
      element("p", {}, loop.off_cpu ? element("strong", {}, `${loop.off_cpu}; `) : null, lineButton(loop.source), forward ? ["; back-propagation of ", button(forward.name, () => choose({ loop: forward.key }), { class: "link" })] : "",
        loop.typical_step ? `; ${loop.typical_step}` : "",
        slowSteps(loop),
        loop.heading.map((each) => ["; ", element("span", { title: each.about }, `${each.title} ${quantity[each.unit](each.value)}`)])),
      operationTable(`Operations of ${loop.name}, in all steps`, [...loop.operations].sort((a, b) => b.total_ns - a.total_ns)),
      inner.length ? element("ul", { class: "tree" }, inner.map((each, k) => loopItem(each, loops, k < MOST_OPEN))) : null));
}

/** How long a loop worked: its CPU time where that is known. */
function workedNs(loop) {
  return Math.min(loop.total_ns, loop.measures.cpu_ns ?? loop.total_ns);
}

/** Why slow steps are slow: the sides of branches that they took, or what else is known. */
function slowSteps(loop) {
  const sides = (loop.sides || []).filter((side) => side.taken <= 0.2 * loop.steps && side.taken * side.typical_ns >= 0.05 * workedNs(loop));
  if (sides.length || !loop.slow_steps) return sides.map((side) => slowSide(loop, side));
  return ["; ", element("strong", {}, `slow steps: ${loop.slow_steps}`)];
}

/** A side of a branch that few steps took and much of the time went into. */
function slowSide(loop, side) {
  const hottest = side.operations.reduce((best, each) => (best === null || each.typical_ns > best.typical_ns ? each : best), null);
  const when = side.every ? `once in ${count(side.every)} steps` : `in ${count(side.taken)} steps`;
  const part = percent((side.taken * side.typical_ns) / Math.max(1, workedNs(loop)));
  const label = loop.operations[side.operation]?.label ?? "ifelse";
  return ["; ", element("strong", {}, `slow: the ${side.side} side of ${label}, taken ${when}, takes ${part} of the work (${duration(side.typical_ns)} each)`),
    hottest ? [`, most of it ${hottest.label} `, lineButton(hottest.source)] : ""];
}

function operationTable(caption, operations) {
  const rates = data.measures.filter((one) => operations.some((each) => one.name in each.measures));
  const shown = (each) => (each.samples && !each.total_ns ? { show: "below resolution", by: 0 } : timeCell(each.total_ns));
  return table(caption, [...SHARE, { name: "operation", heads: true }, { name: "line" }, { name: "result", wide: true }, ...rateColumns(rates)],
    operations.map((each) => [shareCells(each.total_ns)[0], shown(each), each.label, lineButton(each.source), each.output, ...rateCells(rates, each)]), { most: 8 });
}

/** A share as a number with a bar beside it. */
function bar(share) {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return element("span", { class: "share" }, percent(share), element("span", { class: "bar", "aria-hidden": "true", style: `--share:${width.toFixed(1)}%` }));
}

function adviceView() {
  if (!data.advice.length) return null;
  return element("section", { "aria-label": "advice" }, element("h2", {}, "Advice"),
    element("ul", {}, data.advice.map((each) => element("li", {}, element("strong", {}, each.title), " ", each.text,
      each.evidence ? element("p", { class: "note" }, each.evidence) : null, each.source ? element("code", {}, each.source) : null))));
}
