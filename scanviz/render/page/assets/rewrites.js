// Rewrites: the list of what changed anything, and each one's difference, to be stepped through with [ and ].

const DIFF_CONTEXT = 3;
let onlyLoop = false;

function rewritesView() {
  const loop = loopOf(state.loop);
  const owner = functionOf(loop?.function) ?? data.functions[0];
  const history = owner?.rewrites;
  if (!history) return element("p", {}, "No rewrites of this function were recorded.");
  const applications = history.applications;
  if (!applications.length) return element("p", {}, `No rule changed ${owner.name} (rules: ${history.selection}).`);
  const box = element("div", { id: "difference" });
  const rows = element("div", {});
  const filter = element("input", { type: "checkbox", id: "only-loop", checked: onlyLoop });
  const list = () => {
    const shownOnes = applications.filter((each) => !onlyLoop || !loop || each.loops.some((name) => name === loop.name || name.endsWith(`/${loop.name}`)) || each.message.includes(`\`${loop.name}\``));
    rows.replaceChildren(table(`${applications.length} rewrites of ${owner.name}`,
      [{ name: "no.", numeric: true, heads: true }, { name: "phase", wide: true }, { name: "rule" }, { name: "what it did" }, { name: "operations", numeric: true, wide: true }, { name: "flops", numeric: true, wide: true }, { name: "rows kept", numeric: true, wide: true }, { name: "time", numeric: true, wide: true }],
      shownOnes.map((each) => ({
        "data-rewrite": each.index, class: each.index === state.rewrite ? "chosen" : null,
        cells: [button(String(each.index), () => choose({ rewrite: each.index }), { class: "link" }), each.phase, each.rule, element("span", { class: "message" }, marked(each.message)),
          gain(history, each, "operations"), gain(history, each, "flops"), gain(history, each, "buffer_bytes", bytes), timeCell(each.time_ns)],
      }))));
  };
  const film = filmPart(owner, loop, (rewrite) => choose({ rewrite }));
  const show = () => {
    const at = Math.min(state.rewrite, applications.length - 1);
    box.replaceChildren(...difference(history, applications[at]));
  };
  filter.addEventListener("change", () => { onlyLoop = filter.checked; list(); });
  listeners.push((changed) => { if (changed.includes("rewrite") && box.isConnected) { list(); show(); filmShown?.follow(state.rewrite); announce(applications[state.rewrite]?.message ?? ""); } });
  list();
  show();
  const move = (step) => choose({ rewrite: Math.max(0, Math.min(applications.length - 1, state.rewrite + step)) });
  return element("div", {}, element("h2", {}, `Rewrites of ${owner.name}`), film,
    element("div", { class: "controls" }, button("[ before", () => move(-1)), button("] next", () => move(1)),
      loop ? element("label", {}, filter, ` of ${loop.name} alone`) : null), box, rows, refusals(history));
}

/** A cost in named sizes, cut where it is long: the whole stands with the rewrite. */
function term(text) {
  if (text === undefined || text === null) return "–";
  return element("span", { title: text }, text.length > 26 ? `${text.slice(0, 25)}…` : text);
}

/** What a graph costs in numbers as it was built and after each rewrite, with the sizes of the last call; null where that is not known. */
const numbersOf = new WeakMap();

function numbersAt(history, after) {
  if (!numbersOf.has(history)) {
    let last = null;
    const next = (cost) => {
      if (!cost?.numbers) return last;
      const steps = { ...last?.per_step, ...cost.numbers.per_step };
      for (const loop of cost.gone) delete steps[loop];
      last = { ...cost.numbers, per_step: steps };
      return last;
    };
    numbersOf.set(history, [history.cost, ...history.applications.map((each) => each.cost)].map(next));
  }
  return numbersOf.get(history)[after];
}

/** What a rewrite changed in a cost: a number with its sign where that is known, else a sum of named sizes. */
function gain(history, one, kind, shown = count) {
  const [before, after] = [one.index, one.index + 1].map((k) => numbersAt(history, k)?.[kind]);
  if (!one.difference || typeof before !== "number" || typeof after !== "number") return term(one.difference?.[kind]);
  const by = after - before;
  return element("span", { title: `${shown(before)} → ${shown(after)}: ${one.difference[kind]}` }, by ? `${by < 0 ? "−" : "+"}${shown(Math.abs(by))}` : "0");
}

function linesAt(history, after) {
  const lines = [...history.lines];
  for (const each of history.applications.slice(0, after)) {
    for (const edit of each.edits) lines.splice(edit.start, edit.stop - edit.start, ...edit.lines);
  }
  return lines;
}

function difference(history, one) {
  const head = [element("h3", {}, `${one.index}: ${one.rule}`, " ", element("code", {}, one.where)), element("p", {}, marked(one.message))];
  const facts = [
    ...gains(history, one),
    one.loops.length ? `in the steps of ${one.loops.join(", ")}` : null,
    one.removed || one.added ? `${one.removed} operations gone, ${one.added} new` : null,
    one.moved_out.length ? `left their loop: ${one.moved_out.join("; ")}` : null,
    one.moved_in.length ? `went into a loop: ${one.moved_in.join("; ")}` : null,
    ...one.loop_variables,
    measured(history, one.rule),
  ].filter(Boolean);
  head.push(element("ul", {}, facts.map((each) => element("li", {}, marked(each)))));
  if (!one.edits.length) return head;
  const before = linesAt(history, one.index);
  const rows = [];
  let shownTo = 0;
  for (const edit of [...one.edits].reverse()) {
    const from = Math.max(shownTo, edit.start - DIFF_CONTEXT);
    if (from > shownTo) rows.push(["…", "gap"]);
    for (const line of before.slice(from, edit.start)) rows.push([`  ${line}`, ""]);
    for (const line of before.slice(edit.start, edit.stop)) rows.push([`- ${line}`, "removed"]);
    for (const line of edit.lines) rows.push([`+ ${line}`, "added"]);
    shownTo = edit.stop;
    const next = Math.min(before.length, edit.stop + DIFF_CONTEXT);
    const following = [...one.edits].reverse().find((each) => each.start >= edit.stop && each !== edit);
    const until = following ? Math.min(next, following.start) : next;
    for (const line of before.slice(edit.stop, until)) rows.push([`  ${line}`, ""]);
    shownTo = until;
  }
  if (shownTo < before.length) rows.push(["…", "gap"]);
  return [...head, element("pre", { class: "diff", tabindex: "0", "aria-label": "the graph before and after" }, rows.map(([text, kind]) =>
    kind === "removed" ? element("del", {}, `${text}\n`) : kind === "added" ? element("ins", {}, `${text}\n`) : element("span", { class: kind || null }, `${text}\n`)))];
}

/** What leaving the rule out was measured to cost, where that was put into the profile. */
function measured(history, rule) {
  const effect = history.effects.find((each) => each.rule === rule);
  if (!effect) return null;
  const noise = effect.low <= 1 && effect.high >= 1 ? ", which is noise" : "";
  const instead = effect.instead?.length ? `; its work was then done by ${effect.instead.join(", ")}` : "";
  return `measured: without it ${effect.ratio.toFixed(2)} times the time (quartiles ${effect.low.toFixed(2)} to ${effect.high.toFixed(2)}${noise}), ${(effect.without_bytes / Math.max(1, effect.with_bytes)).toFixed(2)} times the peak memory${instead}`;
}

/** What a rewrite changed in the costs, in words: of a step of each loop, and of a call. */
function gains(history, one) {
  if (!one.cost) return [];
  const [before, after] = [one.index, one.index + 1].map((k) => numbersAt(history, k));
  const change = (old, now, words, shown = count) => (typeof old === "number" && typeof now === "number" && shown(old) !== shown(now) ? `${shown(old)} → ${shown(now)} ${words}` : null);
  const all = (old, now) => [change(old?.operations, now?.operations, "operations"), change(old?.flops, now?.flops, "floating-point operations"),
    change(old?.bytes_moved, now?.bytes_moved, "read and written", bytes), change(old?.buffer_bytes, now?.buffer_bytes, "rows kept", bytes)].filter(Boolean).join(", ");
  const line = (of, old, now) => (all(old, now) ? [`${of}: ${all(old, now)}`] : []);
  if (before && after) {
    const steps = Object.keys(after.per_step).filter((name) => before.per_step[name]);
    return [...steps.flatMap((name) => line(`a step of ${name}`, before.per_step[name], after.per_step[name])), ...line("a call", before, after)];
  }
  const changed = [["operations", "operations"], ["flops", "floating-point operations"], ["bytes_moved", "bytes moved"], ["buffer_bytes", "bytes of rows"]];
  const steps = Object.entries(one.cost.per_step).map(([name, many]) => `a step of ${name} has ${many} operations now`);
  return [...changed.filter(([name]) => one.difference && one.difference[name] !== "0").map(([name, words]) => `${words}: ${one.difference[name]}`), ...steps];
}

function refusals(history) {
  if (!history.refusals.length) return null;
  return element("details", {}, element("summary", {}, `why others did not fire (${history.refusals.length})`),
    table("Refusals", [{ name: "rule" }, { name: "loop" }, { name: "at", wide: true }, { name: "why" }, { name: "line", wide: true }],
      history.refusals.map((each) => [each.rule, each.loop, each.node, each.why, each.source])));
}
