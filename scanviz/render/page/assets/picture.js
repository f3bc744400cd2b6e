// The picture: pan, zoom, search, and nodes that light up their counterparts and all that they reach.

const READABLE = 1100; // units of a picture that a window is wide enough for

class Picture {
  constructor(picture) {
    this.picture = picture;
    this.svg = drawingOf(picture).querySelector("svg").cloneNode(true);
    this.parts = new Map([...this.svg.querySelectorAll("[id]")].map((each) => [each.id, each]));
    this.nodes = new Map(picture.nodes.map((each) => [each.id, each]));
    this.ports = new Map(picture.nodes.flatMap((node) => (node.ports ?? []).map((port) => [port.id, { ...port, node }])));
    this.found = [];
    const [x, y, width, height] = (this.svg.getAttribute("viewBox") ?? "0 0 1000 1000").split(/[\s,]+/).map(Number);
    this.whole = { x, y, width, height };
    this.view = { ...this.whole };
    for (const name of ["width", "height"]) this.svg.removeAttribute(name);
    this.svg.setAttribute("class", "picture");
    this.svg.setAttribute("tabindex", "0");
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", "The graph as a picture. Arrows pan, plus and minus zoom, 0 shows all; Tab goes from node to node, Enter chooses one.");
    this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    for (const id of [...this.nodes.keys(), ...this.ports.keys()]) this.prepare(id);
    this.about = element("div", { class: "about", role: "region", "aria-label": "chosen node" }, "Choose a node: its counterparts and all nodes that it reaches light up.");
  }

  prepare(id) {
    const part = this.parts.get(id);
    if (!part) return;
    part.setAttribute("tabindex", "0");
    part.setAttribute("role", "button");
    part.setAttribute("aria-label", this.name(id));
    part.classList.add("choosable");
    part.addEventListener("click", (event) => { event.stopPropagation(); this.choose(id); });
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(id);
    });
  }

  name(id) {
    const port = this.ports.get(id);
    if (port) return `${port.kind} ${port.label}, port of ${port.node.label}`;
    const node = this.nodes.get(id);
    if (!node) return id;
    const kind = node.loop_kind ? `${node.kind.replace("_", " ")}, ${node.loop_kind}` : node.kind.replace("_", " ");
    return `${node.label}: ${kind}${node.type ? `, ${node.type}` : ""}${node.time_ns ? `, ${duration(node.time_ns)}` : ""}`;
  }

  /** Edges from or to an id; those of a closed loop start and end at its ports, and a port reaches its loop's other side. */
  edges(id, forward) {
    return this.picture.edges.filter((each) => (forward ? each.source : each.target) === id).map((each) => ({ id: forward ? each.target : each.source, role: each.role ?? "data" }));
  }

  reached(id, forward = true) {
    const seen = new Map([[id, null]]);
    const waiting = [id];
    while (waiting.length) {
      const here = waiting.shift();
      for (const { id: next } of this.edges(here, forward)) {
        if (!seen.has(next)) { seen.set(next, here); waiting.push(next); }
      }
      const port = this.ports.get(here);
      if (port && port.side === (forward ? "in" : "out")) {
        for (const other of port.node.ports) {
          if (other.side !== port.side && !seen.has(other.id) && connected(port.node.loop, port, other)) { seen.set(other.id, here); waiting.push(other.id); }
        }
      }
    }
    return seen;
  }

  counterparts(id) {
    const mapped = ["enters", "leaves", "recurrence"];
    const near = [...this.edges(id, true), ...this.edges(id, false)].filter((each) => mapped.includes(each.role)).map((each) => each.id);
    const node = this.nodes.get(id);
    const same = node && node.variable !== undefined
      ? this.picture.nodes.filter((each) => each.cluster === node.cluster && each.variable === node.variable && each.id !== id).map((each) => each.id) : [];
    return new Set([...near, ...same]);
  }

  choose(id) {
    this.chosen = id;
    const reached = this.reached(id);
    const counterparts = this.counterparts(id);
    for (const [key, part] of this.parts) {
      if (!this.nodes.has(key) && !this.ports.has(key)) continue;
      part.classList.toggle("chosen", key === id);
      part.classList.toggle("counterpart", counterparts.has(key));
      part.classList.toggle("reached", reached.has(key) && key !== id);
      part.classList.toggle("dim", !reached.has(key) && !counterparts.has(key) && key !== id);
    }
    const outputs = this.picture.nodes.filter((each) => each.kind === "output" && reached.has(each.id)).map((each) => each.label);
    const node = this.nodes.get(id);
    this.about.replaceChildren(
      element("strong", {}, this.name(id)), " ", node?.source ? element("code", {}, `${node.source} ${node.text ?? ""}`) : "",
      element("p", {}, counterparts.size ? `Corresponds to: ${[...counterparts].map((each) => this.label(each)).join(", ")}. ` : "",
        `Reaches ${reached.size - 1} others`, outputs.length ? `, of the outputs: ${outputs.join(", ")}.` : " and none of the outputs."),
      button("nodes that reach it", () => this.show(this.reached(id, false), id)), " ", button("clear", () => this.clear()));
    announce(this.about.textContent);
  }

  label(id) {
    return (this.nodes.get(id) ?? this.ports.get(id) ?? { label: id }).label;
  }

  show(seen, id) {
    for (const [key, part] of this.parts) {
      if (!this.nodes.has(key) && !this.ports.has(key)) continue;
      part.classList.toggle("reached", seen.has(key) && key !== id);
      part.classList.toggle("dim", !seen.has(key));
    }
    announce(`${seen.size - 1} nodes reach ${this.label(id)}`);
  }

  clear() {
    for (const part of this.parts.values()) part.classList.remove("chosen", "counterpart", "reached", "dim", "found");
    this.about.replaceChildren("Nothing is chosen.");
  }

  search(text) {
    const wanted = text.trim().toLowerCase();
    this.found = wanted ? this.picture.nodes.filter((each) => `${each.label} ${each.type ?? ""} ${each.source ?? ""} ${each.key ?? ""} ${each.op ?? ""}`.toLowerCase().includes(wanted)).map((each) => each.id) : [];
    for (const [key, part] of this.parts) part.classList.toggle("found", this.found.includes(key));
    this.at = -1;
    return this.found.length;
  }

  next(step) {
    if (!this.found.length) return;
    this.at = (this.at + step + this.found.length) % this.found.length;
    this.centre(this.found[this.at]);
    this.choose(this.found[this.at]);
  }

  centre(id) {
    const part = this.parts.get(id);
    if (!part || !this.painted()) return;
    const here = part.getBoundingClientRect();
    const frame = this.svg.getBoundingClientRect();
    const scale = this.scale();
    this.view.x += (here.x + here.width / 2 - frame.x - frame.width / 2) * scale;
    this.view.y += (here.y + here.height / 2 - frame.y - frame.height / 2) * scale;
    this.draw();
  }

  /** Begin where one can read: at the loop that is looked at, an open one from its top, where the whole would be too small. */
  home(key) {
    const open = this.picture.clusters?.find((each) => each.loop === key);
    const part = this.parts.get((open ?? this.picture.nodes.find((each) => each.kind === "loop" && each.loop === key))?.id);
    if (!part || !this.painted() || Math.max(this.whole.width, this.whole.height) < READABLE) return;
    const here = part.getBoundingClientRect();
    const frame = this.svg.getBoundingClientRect();
    const scale = this.scale();
    const middle = this.view.x + this.view.width / 2 + (here.x + here.width / 2 - frame.x - frame.width / 2) * scale;
    const top = this.view.y + this.view.height / 2 + (here.y - frame.y - frame.height / 2) * scale;
    const width = Math.min(READABLE, frame.width / LEAST_SCALE, open ? here.width * scale * 1.08 : Infinity);
    const height = width * (frame.height / frame.width);
    this.view = { x: middle - width / 2, y: top - (open ? 0.03 : 0.4) * height, width, height };
    this.draw();
  }

  /** Whether it has a size on the screen: one that is hidden, or that another has replaced meanwhile, has none to reckon with. */
  painted() {
    const frame = this.svg.getBoundingClientRect();
    return frame.width > 0 && frame.height > 0;
  }

  scale() {
    const frame = this.svg.getBoundingClientRect();
    return Math.max(this.view.width / frame.width, this.view.height / frame.height);
  }

  draw() {
    const { x, y, width, height } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  }

  zoom(factor, at = [0.5, 0.5]) {
    const width = Math.min(this.whole.width * 4, Math.max(this.whole.width / 200, this.view.width * factor));
    const height = (width / this.view.width) * this.view.height;
    this.view.x += (this.view.width - width) * at[0];
    this.view.y += (this.view.height - height) * at[1];
    Object.assign(this.view, { width, height });
    this.draw();
  }

  wheel(event) {
    event.preventDefault();
    const frame = this.svg.getBoundingClientRect();
    this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, [(event.clientX - frame.x) / frame.width, (event.clientY - frame.y) / frame.height]);
  }

  press(event) {
    const start = { x: event.clientX, y: event.clientY, view: { ...this.view } };
    const move = (moved) => {
      const scale = this.scale();
      this.view.x = start.view.x - (moved.clientX - start.x) * scale;
      this.view.y = start.view.y - (moved.clientY - start.y) * scale;
      this.draw();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
  }

  key(event) {
    const by = this.view.width / 10;
    const pans = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by] };
    if (event.key in pans) { this.view.x += pans[event.key][0]; this.view.y += pans[event.key][1]; this.draw(); }
    else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.4);
    else if (event.key === "-") this.zoom(1.4);
    else if (event.key === "0") { this.view = { ...this.whole }; this.draw(); }
    else if (event.key === "Escape") this.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Whether an outer input reaches an outer output of a loop, by its connection pattern; yes where that is not known. */
function connected(key, from, to) {
  const loop = loopOf(key);
  if (!loop) return true;
  const row = loop.connections.rows.findIndex((each) => each[1] === from.variable);
  const column = loop.connections.columns.findIndex((each) => each[1] === to.variable);
  return row < 0 || column < 0 || loop.connections.cells[row][column];
}

let pictureShown = null;
let loopsOpen = false; // large graphs begin with their loops closed

/** Open or close the loops of a large graph. */
function foldLoops(open) {
  loopsOpen = open;
  if (state.view === "picture") render(["view"]);
  keepAddress();
}

function pictureView() {
  const loop = loopOf(state.loop);
  const whole = data.pictures.find((each) => each.function === (loop?.function ?? data.functions[0]?.key)) ?? data.pictures[0];
  if (!whole) return element("p", {}, "The profile holds no graph to draw.");
  const picture = whole.folded && !loopsOpen ? whole.folded : whole;
  const view = (pictureShown = new Picture(picture));
  const hits = element("span", { role: "status" });
  const search = element("input", { type: "search", id: "search", placeholder: "name, operation, line", "aria-label": "search in the picture" });
  search.addEventListener("input", () => { hits.textContent = search.value ? `${view.search(search.value)} found` : (view.search(""), ""); });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") view.next(event.shiftKey ? -1 : 1); });
  requestAnimationFrame(() => view.home(state.loop));
  return element("div", {},
    element("h2", {}, `Graph of ${functionOf(picture.function)?.name ?? "the function"}`),
    element("div", { class: "controls" }, search, button("next", () => view.next(1)), hits,
      button("zoom in", () => view.zoom(1 / 1.4)), button("zoom out", () => view.zoom(1.4)), button("all", () => { view.view = { ...view.whole }; view.draw(); }),
      whole.folded ? button(loopsOpen ? "close the loops" : "open the loops", () => foldLoops(!loopsOpen), { "aria-keyshortcuts": "o" }) : null),
    element("div", { class: "frame" }, view.svg), view.about,
    element("p", { class: "note" }, `Drawn by ${picture.engine}. `, (picture.notes ?? []).join(" ")));
}
