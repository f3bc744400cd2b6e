// Source: the user's lines that made operations, with the time spent in each.

function sourceLines() {
  const lines = new Map();
  const add = (source, ns, loop) => {
    if (!source) return;
    const key = place(source);
    const known = lines.get(key) ?? { source, ns: 0, loops: new Set() };
    known.ns += ns;
    if (loop) known.loops.add(loop);
    lines.set(key, known);
  };
  for (const each of data.functions) for (const one of each.operations) if (one.kind !== "loop") add(one.source, one.total_ns, null);
  for (const loop of data.loops) for (const one of loop.operations) if (one.kind !== "loop") add(one.source, one.mean_ns * loop.steps, loop.name);
  return [...lines.values()].sort((a, b) => (a.source.file === b.source.file ? a.source.line - b.source.line : a.source.file < b.source.file ? -1 : 1));
}

function sourceView() {
  const lines = sourceLines();
  if (!lines.length) return element("p", {}, "No operation of this profile knows its line.");
  const total = lines.reduce((sum, each) => sum + each.ns, 0) || 1;
  return element("div", {}, element("h2", {}, "Lines"),
    table("Time of operations by the line that built them (estimated in loops)",
      [...SHARE, { name: "line", heads: true }, { name: "code" }, { name: "loops", wide: true }],
      lines.map((each, k) => ({ "data-line": place(each.source), cells: [...shareCells(each.ns, total), { show: place(each.source), by: -k }, element("code", {}, each.source.text), [...each.loops].join(", ")] }))
        .sort((a, b) => b.cells[1].by - a.cells[1].by)));
}

function showLine(source) {
  choose({ view: "source" });
  const row = [...document.querySelectorAll("[data-line]")].find((each) => each.dataset.line === place(source));
  if (!row) return;
  row.classList.add("chosen");
  row.scrollIntoView({ block: "center" });
  say(`${place(source)}: ${source.text}`);
}
