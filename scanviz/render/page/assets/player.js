// The step player: at any step, which rows of each buffer are read and which is written, and the values where they were kept.

const MOST_CELLS = 15;
const FEW_SEQUENCES = 3;

const SPEEDS = [1, 2, 4, 8, 16, 32];
let playing = null;
let speed = 4;
let sequencesOpen = false; // of a loop that reads many: a gradient reads all that it needs of the loop before

function playerView() {
  const loop = loopOf(state.loop);
  if (!loop) return element("p", {}, "The profile holds no loop.");
  const box = element("div", { id: "player" });
  const last = Math.max(0, loop.longest_run - 1);
  const scrub = element("input", { type: "range", id: "scrub", min: 0, max: last, value: state.step, "aria-label": "Step",
    oninput: (event) => choose({ step: Number(event.target.value) }) });
  const play = button("", () => playPause(last), { id: "play" });
  const rate = element("select", { "aria-label": "Steps a second", onchange: (event) => { speed = Number(event.target.value); if (playing) { playPause(last); playPause(last); } } },
    SPEEDS.map((each) => element("option", { value: each, selected: each === speed }, `${each} steps a second`)));
  const blame = blamePart(loop);
  const draw = () => {
    scrub.value = state.step;
    if (blame && data.blame[loop.key].some((link) => link.loop === loop.key && link.step === state.step)) blame.open = true;
    play.textContent = playing ? "❚❚ pause" : "▶ play";
    box.replaceChildren(...playerOf(loop));
  };
  listeners.push((changed) => {
    if (!box.isConnected) stopPlaying();
    else if (changed.includes("step") || changed.includes("playing")) draw();
  });
  draw();
  const traces = data.traces.filter((each) => each.loop === loop.key);
  const bad = firstBad(traces);
  return element("div", {}, element("h2", {}, `Step by step through ${loop.name}`),
    element("div", { class: "controls" },
      button("|◀ first", () => choose({ step: 0 })), button("◀ back", () => choose({ step: Math.max(0, state.step - 1) })), play,
      button("forward ▶", () => choose({ step: Math.min(last, state.step + 1) })), button("last ▶|", () => choose({ step: last })), rate,
      bad ? button(`first ${bad.what}: step ${bad.step}`, () => choose({ step: bad.step })) : null, scrub),
    aboutValues(traces, bad, blame), blame, box);
}

/** What is known of values, where there is no chain of blame. */
function aboutValues(traces, bad, blame) {
  if (blame) return null;
  if (!traces.length) return element("p", { class: "todo" }, "No values of this loop were recorded. To see them: ", element("code", {}, data.record_values));
  return element("p", { class: "note" }, bad ? `${bad.name} is ${bad.what} first at step ${bad.step}.` : "No value that was kept is NaN or infinite.");
}

function playPause(last) {
  if (playing) stopPlaying();
  else {
    if (state.step >= last) choose({ step: 0 });
    playing = setInterval(() => (state.view === "player" && state.step < last ? choose({ step: state.step + 1 }) : stopPlaying()), 1000 / speed);
    listeners.forEach((each) => each(["playing"]));
  }
}

function stopPlaying() {
  if (!playing) return;
  clearInterval(playing);
  playing = null;
  listeners.forEach((each) => each(["playing"]));
}

/** The chain of blame: from the step that was given a NaN to the row of the input that it began with. */
function blamePart(loop) {
  const links = data.blame[loop.key] ?? [];
  if (!links.length) return null;
  const go = (link) => () => choose({ loop: link.loop, step: link.step });
  const bad = firstBad(data.traces.filter((each) => each.loop === loop.key));
  return element("details", { class: "blame", "aria-label": "chain of blame" }, element("summary", {}, bad ? `Where the ${bad.what} of step ${bad.step} comes from` : "Where it comes from"),
    element("ol", {}, links.map((link) => element("li", {},
      link.step === null ? link.words : button(link.words, go(link), { class: "link" }), link.source ? element("small", {}, ` ${place(link.source)}  ${link.source.text}`) : null))));
}

/** Go to the first NaN or infinity of the loop that is looked at, else of the first loop that has one. */
function goToFirstBad() {
  for (const key of [state.loop, ...data.loops.map((each) => each.key)]) {
    const bad = firstBad(data.traces.filter((each) => each.loop === key));
    if (bad) { choose({ view: "player", loop: key, step: bad.step }); return; }
  }
  announce("No value that was kept is NaN or infinite.");
}

function firstBad(traces) {
  let first = null;
  for (const trace of traces) {
    for (const each of trace.variables) {
      const at = each.statistics.findIndex((row) => row[3] > 0 || row[4] > 0);
      if (at >= 0 && (first === null || trace.steps[at] < first.step)) {
        first = { step: trace.steps[at], name: each.name, what: each.statistics[at][3] > 0 ? "NaN" : "infinite" };
      }
    }
  }
  return first;
}

/** The mean of each row of a buffer as it is after a step, of rows that are known. */
function rowsHeld(loop, index, step) {
  const spans = data.rows_held[loop.key]?.[index] ?? [];
  return new Map(spans.filter(([, first, end]) => first <= step && (end === null || step < end)).map(([row, , , mean]) => [row, number(mean)]));
}

/** Which later steps read, and write again, the rows that a step writes, in words. */
function carried(variable, step, steps) {
  return variable.later.map(([row, uses]) => {
    const verbs = uses.map(([verb, readers]) => [verb, readers.filter(([after]) => step + after < steps)]).filter(([, readers]) => readers.length)
      .map(([verb, readers]) => `${verb} ${readers.map(([after, name]) => `by step ${step + after} as ${name}`).join(", ")}`);
    return verbs.length ? `row ${step + row} is ${verbs.join(" and ")}` : "";
  }).filter(Boolean).join("; ");
}

function playerOf(loop) {
  const steps = loop.longest_run;
  const step = Math.min(state.step, Math.max(0, steps - 1));
  const forward = forwardStep(loop, step, steps);
  const said = `Step ${step} of ${steps}${forward === null ? "" : ` (belongs to step ${forward} of ${loopOf(loop.gradient_of)?.name ?? "the forward loop"})`}`;
  announce(said);
  const order = ["mitmot", "mitsot", "sitsot", "nitsot", "sequence"];
  const buffers = loop.variables.map((each, k) => [each, k]).filter(([each]) => order.includes(each.kind))
    .sort(([a], [b]) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const drawn = (wanted) => buffers.filter(([each]) => (each.kind === "sequence") === wanted).map(([each, k]) => buffer(loop, each, k, step));
  return [element("p", { class: "about" }, said), missingPart(loop, step), stateParts(loop, step), drawn(false), sequencesPart(drawn(true)), valuesPart(loop, step)].flat();
}

/** The rulers of sequences: many of them wait behind a line. */
function sequencesPart(rulers) {
  if (rulers.length <= FEW_SEQUENCES) return rulers;
  return element("details", { open: sequencesOpen, ontoggle: (event) => { sequencesOpen = event.target.open; } },
    element("summary", {}, `rows of ${rulers.length} sequences that this step reads`), rulers);
}

/** How many rows a buffer has, which were there before the loop, and which of them memory holds, as a sentence. */
function aboutRows(variable, total) {
  const before = variable.rows_before;
  const rows = `${variable.kind}, ${count(total)} ${total === 1 ? "row" : "rows"}`;
  const start = variable.outer_input ? ` (${variable.outer_input})` : "";
  const first = before === 1 ? `: row 0 is the start${start}` : `: rows 0 to ${before - 1} are the start${start}`;
  const kept = variable.keep_last === 1 ? "only the last row stays in memory" : `only the last ${variable.keep_last} rows stay in memory`;
  return [rows, before ? `${first}, then each step writes one` : "", variable.keep_last ? `; ${kept}` : ""].join("");
}

/** A buffer as a ruler: a cell a row, with the rows that this step reads and writes marked in words, not by colour alone. */
function buffer(loop, variable, index, step) {
  const before = variable.rows_before;
  const reads = variable.kind === "sequence" ? [step] : variable.reads.map((tap) => step + tap + before);
  const writes = variable.kind === "nitsot" ? [step] : variable.writes.map((tap) => step + tap + before);
  const total = Math.max(before + loop.longest_run, ...reads.map((row) => row + 1), ...writes.map((row) => row + 1));
  const near = [...reads, ...writes];
  const from = Math.max(0, Math.min(Math.min(...near) - 2, total - MOST_CELLS));
  const to = Math.min(total, Math.max(Math.max(...near) + 3, from + MOST_CELLS));
  const names = new Map();
  const note = (row, text) => names.set(row, [...(names.get(row) ?? []), text]);
  reads.forEach((row, k) => note(row, `reads ${variable.kind === "sequence" ? variable.inner_inputs[0] : variable.read_names[k]}`));
  writes.forEach((row, k) => note(row, `writes ${variable.kind === "nitsot" ? variable.name : variable.write_names[k]}`));
  const held = rowsHeld(loop, index, step);
  const means = [...held].filter(([row, mean]) => row >= from && row < to && Number.isFinite(mean)).map(([, mean]) => mean);
  const low = Math.min(...means), high = Math.max(...means);
  const heat = (row) => {
    const mean = held.get(row);
    return mean === undefined || !Number.isFinite(mean) ? null : `--heat: ${((mean - low) / (high - low || 1)).toFixed(3)}`;
  };
  const meanOf = (row) => (held.has(row) ? element("span", { class: Number.isFinite(held.get(row)) ? "mean" : "mean bad", title: "mean of the row" }, shown(held.get(row))) : null);
  const cells = [];
  if (from > 0) cells.push(element("li", { class: "gap" }, "…"));
  for (let row = from; row < to; row++) {
    const marks = names.get(row) ?? [];
    const kind = marks.some((each) => each.startsWith("writes")) ? (marks.some((each) => each.startsWith("reads")) ? "both" : "written") : marks.length ? "read" : "";
    cells.push(element("li", { class: `row ${kind} ${row < before ? "initial" : ""}`, "data-row": row, style: heat(row) },
      element("span", { class: "index" }, String(row)), marks.map((each) => element("span", { class: "tap" }, each)), row < before && !marks.length ? element("span", { class: "tap" }, "initial") : null, meanOf(row)));
  }
  if (to < total) cells.push(element("li", { class: "gap" }, "…"));
  const words = [...names].map(([row, marks]) => `row ${row}: ${marks.join(" and ")}`).join("; ");
  return element("section", { class: "buffer", "data-variable": index, "aria-label": `${variable.kind} ${variable.name}` },
    element("h3", {}, variable.name, " ", element("small", {}, aboutRows(variable, total))),
    element("ol", { class: "ruler" }, cells),
    element("p", {}, element("span", { class: "words" }, words), element("span", { class: "carried" }, carried(variable, step, loop.longest_run))));
}

/** What to do where the page has no values of a step: for each run that lacks it. */
function missingPart(loop, step) {
  const traces = data.traces.filter((each) => each.loop === loop.key && !each.steps.includes(step));
  return traces.map((trace) => {
    const near = trace.steps.reduce((best, each) => (Math.abs(each - step) < Math.abs(best - step) ? each : best), trace.steps[0]);
    const command = ownCommand(data.command).replace("NAME", () => shellWord(loop.name)).replace("RUN", trace.run).replace("STEP", step);
    return element("p", { class: "todo" }, `Run ${trace.run}: step ${step} is not in this page. To see it: `, element("code", {}, command),
      trace.steps.length ? [", or ", button(`go to the nearest one that is: step ${near}`, () => choose({ step: near }), { class: "link" })] : null);
  });
}

function valuesPart(loop, step) {
  const traces = data.traces.filter((each) => each.loop === loop.key && each.steps.includes(step));
  const parts = traces.map((trace) => {
    const at = trace.steps.indexOf(step);
    return table(`Values at step ${step} of run ${trace.run} (${trace.reasons[at] === "asked" ? "computed again" : `kept: ${trace.reasons[at]}`})`,
      [{ name: "variable" }, { name: "of the step", wide: true }, { name: "type", wide: true }, { name: "min", numeric: true, wide: true }, { name: "max", numeric: true, wide: true }, { name: "mean", numeric: true }, { name: "NaN", numeric: true }, { name: "inf", numeric: true }, { name: "values" }],
      trace.variables.map((each) => {
        const [low, high, mean, nan, inf] = each.statistics[at];
        return { class: nan || inf ? "bad" : null, cells: [each.name, each.role, `${each.dtype}[${each.shape.join(", ")}]`, shown(low), shown(high), shown(mean), nan, inf, valueCells(each.values[at])] };
      }));
  });
  return element("section", { "aria-label": "values" }, parts);
}

const shellWord = (text) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function valueCells(values) {
  const texts = values.slice(0, 8).map(shown);
  return element("code", {}, texts.join("  ") + (values.length > 8 ? "  …" : ""));
}
