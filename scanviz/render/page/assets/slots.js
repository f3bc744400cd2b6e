// Loop variables: their kinds and why, the twelve mappings as one table, and who reaches whom over any number of steps.

function slotsView() {
  const loop = loopOf(state.loop);
  if (!loop) return element("p", {}, "The profile holds no loop.");
  const forward = loop.gradient_of !== null ? loopOf(loop.gradient_of) : null;
  return element("div", {},
    element("h2", {}, `Loop variables of ${loop.name}`),
    forward ? element("p", {}, `Back-propagation of ${forward.name}: its step s belongs to step T-1-s there, T being the number of steps.`) : null,
    table("Loop variables", [{ name: "kind" }, { name: "name", heads: true }, { name: "reads" }, { name: "writes" }, { name: "from", wide: true }, { name: "result", wide: true }, { name: "rows", numeric: true, wide: true }, { name: "why this kind", wide: true }],
      byKind(loop.variables).map(([each, k]) => ({ "data-variable": k, cells: [each.kind, each.name, each.inner_inputs.join(", "), each.inner_outputs.join(", "),
        each.outer_input ?? "", each.outer_output ?? "", each.row_bytes ? { show: bytes(each.row_bytes), by: each.row_bytes } : "", each.why] }))),
    kindGlosses(loop.variables), mappingPart(loop), connectionPart(loop));
}

/** What the kinds that a loop has mean, a line each. */
function kindGlosses(variables) {
  const kinds = [...new Set(byKind(variables).map(([each]) => each.kind.replace("_", "-")))];
  return element("ul", { class: "glosses" }, kinds.filter((kind) => data.glosses[kind]).map((kind) =>
    element("li", {}, element("b", {}, kind), `: ${data.glosses[kind]}`)));
}

const KINDS = ["mitmot", "mitsot", "sitsot", "carry", "nitsot", "sequence", "non_sequence"];

/** Loop variables with their places, states first: what a loop carries is what one asks about. */
function byKind(variables) {
  return variables.map((each, k) => [each, k]).sort(([a], [b]) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}

const SIDES = ["outer inputs", "inner inputs", "inner outputs", "outer outputs"];

/** The entries of each side that belong to one loop variable: the twelve maps in four columns. */
function mappingPart(loop) {
  const box = element("div", { id: "mappings" });
  const rows = byKind(loop.variables).filter(([each]) => each.inner_inputs.length + each.inner_outputs.length);
  box.append(table("Mappings: each row is one loop variable", SIDES.map((name) => ({ name })),
    rows.map(([each, k]) => ({
      "data-variable": k, class: "choosable", tabindex: "0",
      onclick: (event) => light(event.currentTarget, each), onfocus: (event) => light(event.currentTarget, each),
      cells: [each.outer_input ?? "(its rows alone)", each.inner_inputs.join(", ") || "–", each.inner_outputs.join(", ") || "–", each.outer_output ?? "–"],
    }))));
  return element("section", { "aria-label": "mappings" }, element("h3", {}, "Mappings"), box,
    element("details", {}, element("summary", {}, "the twelve maps of the specification"),
      table("var_mappings", [{ name: "map" }, { name: "entries" }],
        Object.entries(loop.var_mappings).map(([name, entries]) => [name, Object.entries(entries).map(([from, to]) => `${from} → ${to.length === 1 ? to[0] : `[${to.join(", ")}]`}`).join("   ")]))));
}

function light(row, variable) {
  for (const each of row.closest("main").querySelectorAll("[data-variable]")) each.classList.toggle("counterpart", each.dataset.variable === row.dataset.variable);
  announce(`${variable.kind} ${variable.name}: ${variable.inner_inputs.join(", ")} ${variable.why}`);
}

function connectionPart(loop) {
  const { rows, columns, cells } = loop.connections;
  if (!columns.length) return element("p", {}, "The loop has no outputs: no connections.");
  const about = element("div", { class: "about", role: "status" }, "Choose a cell: the path by which the input reaches the output.");
  const head = element("tr", {}, element("td", {}), columns.map(([name]) => element("th", { scope: "col" }, name)));
  const body = rows.map(([name, variable], r) => element("tr", { "data-variable": variable },
    element("th", { scope: "row" }, name),
    columns.map(([output], c) => element("td", { class: "cell" },
      button(cells[r][c] ? "●" : "·", () => about.replaceChildren(...pathText(loop, r, c)), { "aria-label": `${name} ${cells[r][c] ? "reaches" : "does not reach"} ${output}`, class: cells[r][c] ? "connected" : "apart" })))));
  return element("section", { "aria-label": "connections" }, element("h3", {}, "Which inputs reach which outputs, over any number of steps"),
    element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "connection pattern" },
      element("table", { class: "matrix" }, element("caption", {}, "Outer inputs (rows) and outer outputs (columns): ● reaches, · does not"), element("thead", {}, head), element("tbody", {}, body))), about);
}

/** Go to the connections of the loop that is looked at, at the first that reaches: Enter gives its path. */
function goToConnections() {
  choose({ view: "slots" });
  const part = document.querySelector("[aria-label='connections']");
  part?.scrollIntoView({ block: "center" });
  part?.querySelector("button.connected")?.focus({ preventScroll: true });
}

/** The shortest path in the picture from a loop's input to its output, in words. */
function pathText(loop, row, column) {
  const [from, fromVariable] = loop.connections.rows[row];
  const [to, toVariable] = loop.connections.columns[column];
  if (!loop.connections.cells[row][column]) return [`${from} does not reach ${to}, however many steps there are.`];
  const found = pathInPicture(loop, fromVariable, toVariable);
  if (!found) return [`${from} reaches ${to}.`];
  const { picture, ids, later } = found;
  const nodes = new Map(picture.nodes.map((each) => [each.id, each]));
  const steps = ids.map((id, k) => [k && later.has(`${ids[k - 1]}\n${id}`) ? ` (${later.get(`${ids[k - 1]}\n${id}`)} later) ` : k ? " → " : "", nodes.get(id).label]);
  return [`${from} reaches ${to}: `, element("code", {}, steps.flat().join("")), " ",
    button("show it in the picture", () => { loopsOpen = true; choose({ view: "picture" }); showPath(ids); })];
}

function pathInPicture(loop, fromVariable, toVariable) {
  const picture = data.pictures.find((each) => each.function === loop.function);
  const box = picture?.clusters?.find((each) => each.loop === loop.key);
  if (!box) return null;
  const within = new Set([box.id]);
  for (const each of picture.clusters) if (within.has(each.parent)) within.add(each.id);
  const inside = new Set(picture.nodes.filter((each) => within.has(each.cluster)).map((each) => each.id));
  const ports = picture.nodes.filter((each) => each.cluster === box.id && each.kind === "port");
  const start = ports.find((each) => each.variable === fromVariable && each.side === "in");
  const goal = ports.find((each) => each.variable === toVariable && each.side === "out");
  if (!start || !goal) return null;
  const before = new Map([[start.id, null]]);
  const waiting = [start.id];
  const later = new Map();
  while (waiting.length && !before.has(goal.id)) {
    const here = waiting.shift();
    for (const edge of picture.edges) {
      if (edge.source !== here || !inside.has(edge.target) || before.has(edge.target)) continue;
      if (edge.role === "recurrence") later.set(`${edge.source}\n${edge.target}`, edge.label);
      before.set(edge.target, here);
      waiting.push(edge.target);
    }
  }
  if (!before.has(goal.id)) return null;
  const ids = [];
  for (let id = goal.id; id !== null; id = before.get(id)) ids.unshift(id);
  return { picture, ids, later };
}

function showPath(ids) {
  for (const [key, part] of pictureShown.parts) {
    if (!pictureShown.nodes.has(key)) continue;
    part.classList.toggle("reached", ids.includes(key));
    part.classList.toggle("dim", !ids.includes(key));
  }
  pictureShown.about.replaceChildren(`The path: ${ids.map((id) => pictureShown.label(id)).join(" → ")}`);
}
