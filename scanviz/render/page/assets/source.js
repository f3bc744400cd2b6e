// Source: the user's lines, with the time of all that each of them made, wherever it ran.

function sourceView() {
  const { lines } = data.parts;
  const some = (ns) => (ns ? timeCell(ns) : { show: "–", by: 0 });
  return element("div", {}, element("h2", {}, "Lines"),
    table("Time of the run by line: together all of it",
      [...SHARE, { name: "line", heads: true }, { name: "code" }, { name: "in loops", numeric: true, wide: true }, { name: "outside of loops", numeric: true, wide: true }, { name: "gradient", numeric: true, wide: true }],
      lines.map((row) => ({
        "data-line": place(row.source),
        cells: [...shareCells(row.total_ns), row.source ? breakable(place(row.source)) : "no line", row.source ? element("code", {}, row.source.text) : "",
          some(row.loops_ns), some(row.outside_ns), some(row.gradient_ns)],
      }))));
}

function showLine(source) {
  choose({ view: "source" });
  const row = [...document.querySelectorAll("[data-line]")].find((each) => each.dataset.line === place(source));
  if (!row) { announce(`${place(source)} took no time of its own.`); return; }
  row.classList.add("chosen");
  row.scrollIntoView({ block: "center" });
  announce(`${place(source)}: ${source.text}`);
}
