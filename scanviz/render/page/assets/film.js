// The film of the rewrites: a frame a rewrite that changed the picture, in which every node keeps its place; below it the cost of a step.

let filmShown = null; // what arrow keys and p turn in the view of rewrites

const LEAST_SCALE = 0.72; // at which the letters of a film are read; what is larger than the screen then scrolls to what changes

class Film {
  /** rewrite(k) is called with the rewrite that a frame shows the graph after; not for the first frame, of the graph as it was built. */
  constructor(film, rewrite, choice) {
    this.film = film;
    this.rewrite = rewrite;
    this.at = 0;
    this.timer = null;
    this.svg = drawingOf(film).querySelector("svg").cloneNode(true);
    this.svg.setAttribute("class", "picture");
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", `The graph of ${film.loop ?? "the function"}, rewrite by rewrite`);
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.size = { width, height };
    this.whole = false;
    for (const name of ["width", "height"]) this.svg.removeAttribute(name);
    this.parts = [...this.svg.querySelectorAll("[data-seen]")];
    const last = film.frames.length - 1;
    this.range = element("input", { type: "range", id: "film-frame", min: 0, max: last, value: 0, "aria-label": "Frame of the film",
      oninput: (event) => { this.stop(); this.show(Number(event.target.value)); } });
    this.button = button("", () => this.play(), { id: "film-play", "aria-keyshortcuts": "p" });
    this.caption = element("p", { class: "caption" });
    this.curve = new Curve(film, (frame) => { this.stop(); this.show(frame); });
    this.frame = element("div", { class: "frame film", tabindex: "0", role: "region", "aria-label": "frame of the film" }, this.svg);
    this.element = element("div", {},
      element("div", { class: "controls" }, choice, button("◀ back", () => this.move(-1)), this.button, button("forward ▶", () => this.move(1)), this.range,
        button("all", () => { this.whole = !this.whole; this.fit(); }, { title: "the whole picture, however small, or a readable one" })),
      this.caption, this.frame, this.curve.svg,
      element("p", { class: "note" }, `${film.notes.join(" ")}.`));
    this.draw();
    requestAnimationFrame(() => this.fit());
  }

  /** Draw the picture as large as the screen lets it be, but not so small that it is not read. */
  fit() {
    const most = parseFloat(getComputedStyle(this.frame).maxHeight) || innerHeight;
    const scale = Math.min(1.4, this.frame.clientWidth / this.size.width, most / this.size.height);
    this.svg.style.width = `${Math.floor(this.size.width * (this.whole ? scale : Math.max(scale, LEAST_SCALE))) - 2}px`;
    this.scroll();
  }

  /** Scroll to what is new or gone, where it is out of sight; before anything is, to the title of the loop. */
  scroll() {
    const { seen } = this.film;
    const changed = this.parts.filter((part) => seen[part.dataset.seen][this.at] !== seen[part.dataset.seen][Math.max(0, this.at - 1)] && part.querySelector("rect"));
    const frame = this.frame.getBoundingClientRect();
    const loop = this.parts.find((part) => part.querySelector("rect"))?.getBoundingClientRect(); // loops are drawn first
    if (!changed.length && !this.at && loop) this.frame.scrollLeft += (loop.left + loop.right - frame.left - frame.right) / 2;
    if (!changed.length) return;
    const boxes = changed.map((part) => part.getBoundingClientRect());
    const [left, right] = [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
    const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
    const by = (low, high, start, end) => (low >= start && high <= end ? 0 : (Math.min(high, low + end - start) + low - start - end) / 2);
    this.frame.scrollBy({ left: by(left, right, frame.left, frame.right), top: by(top, bottom, frame.top, frame.bottom), behavior: "smooth" });
  }

  draw() {
    const { frames, seen, counted } = this.film;
    const frame = frames[this.at];
    const before = frames[Math.max(0, this.at - 1)];
    const change = (kind) => `${before[kind] === frame[kind] ? "" : `${count(before[kind])} → `}${count(frame[kind])}`;
    const floating = this.curve.floating.length ? `; floating-point: ${change("flops")}` : "";
    this.range.value = this.at;
    this.button.textContent = this.timer ? "❚❚ pause" : "▶ play";
    for (const part of this.parts) part.style.opacity = seen[part.dataset.seen][this.at];
    this.caption.replaceChildren(element("strong", {}, frame.caption), ` ${frame.text} `,
      element("span", { class: "note" }, `(${this.at + 1} of ${frames.length}; ${counted}: ${change("operations")}${floating})`));
    this.curve.draw(this.at);
    if (this.frame.isConnected) this.scroll();
  }

  /** Show a frame, and choose the rewrite that it stands after. */
  show(at) {
    if (at === this.at) return;
    this.at = at;
    this.draw();
    const { after } = this.film.frames[at];
    if (after) this.rewrite(after - 1);
  }

  /** Show how the graph was after a rewrite. */
  follow(rewrite) {
    const at = this.film.frames.findLastIndex((each) => each.after <= rewrite + 1);
    if (at === this.at) return;
    this.at = at;
    this.draw();
  }

  move(by) {
    this.stop();
    this.show(Math.max(0, Math.min(this.film.frames.length - 1, this.at + by)));
  }

  play() {
    if (this.timer) { this.stop(); return; }
    const last = this.film.frames.length - 1;
    if (this.at >= last) this.show(0);
    this.timer = setInterval(() => {
      if (!this.element.isConnected) clearInterval(this.timer);
      else if (this.at < last) this.show(this.at + 1);
      else this.stop();
    }, 1000 * data.films.seconds);
    this.draw();
  }

  stop() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    this.draw();
  }
}

/** The operations of a step over the frames of a film; a click shows a frame. */
class Curve {
  constructor(film, picked) {
    this.size = { width: NARROW ? 360 : 960, height: 92, left: 34, right: 16, top: 20, bottom: 12 };
    this.values = film.frames.map((each) => each.operations);
    this.most = Math.max(1, ...this.values);
    this.floating = film.frames.every((each) => each.flops !== null) ? film.frames.map((each) => each.flops) : [];
    this.svg = element("svg:svg", { viewBox: `0 0 ${this.size.width} ${this.size.height}`, class: "chart curve", role: "img",
      "aria-label": `${film.counted}, frame by frame: ${this.values.join(", ")}` });
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.size.width;
      const apart = this.values.map((_, k) => Math.abs(this.x(k) - x));
      picked(apart.indexOf(Math.min(...apart)));
    });
  }

  x(frame) {
    return this.size.left + ((this.size.width - this.size.left - this.size.right) * frame) / Math.max(1, this.values.length - 1);
  }

  draw(at) {
    const { width, height, left, right, top, bottom } = this.size;
    const y = (value, most = this.most) => height - bottom - ((height - top - bottom) * value) / most;
    const way = (values, most) => values.map((value, k) => `${this.x(k)},${y(value, most)}`).join(" ");
    const floating = this.floating.length ? [element("svg:polyline", { points: way(this.floating, Math.max(1, ...this.floating)), class: "way other" }),
      element("svg:text", { x: width - right, y: 12, "text-anchor": "end" }, `- - floating-point, at most ${count(Math.max(...this.floating))}`)] : [];
    this.svg.replaceChildren(
      ...[0, this.most].flatMap((value) => [element("svg:line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }),
        element("svg:text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, count(value))]),
      element("svg:line", { x1: this.x(at), x2: this.x(at), y1: top, y2: height - bottom, class: "cursor" }),
      ...floating,
      element("svg:polyline", { points: way(this.values), class: "way" }),
      ...this.values.map((value, k) => element("svg:circle", { cx: this.x(k), cy: y(value), r: k === at ? 5 : 3, class: "mark" })),
      element("svg:text", { x: this.x(at), y: y(this.values[at]) - 8, "text-anchor": "middle", class: "here" }, count(this.values[at])));
  }
}

/** The film of a loop's function, with a choice where there are several, or words where there is none. */
function filmPart(owner, loop, rewrite) {
  filmShown = null;
  const found = data.films.functions[owner.key];
  if (!found) return null;
  const box = element("div", {});
  const more = [found.left_out.length ? `No room in this page for the film of ${found.left_out.join(", ")}. ` : null,
    "The film of the whole function: ", element("code", {}, ownCommand(found.command))];
  const note = element("p", { class: "note" }, more);
  if (!found.films.length) return note;
  const show = (film) => {
    filmShown = new Film(film, rewrite, choice);
    if (state.rewrite) filmShown.follow(state.rewrite);
    box.replaceChildren(filmShown.element);
  };
  const own = found.films.find((each) => each.loop === loop?.name) ?? found.films[0];
  const chooser = element("select", { "aria-label": "Film of", onchange: (event) => { filmShown.stop(); show(found.films[event.target.value]); } },
    found.films.map((each, k) => element("option", { value: k, selected: each === own }, each.loop ?? "the whole function")));
  const choice = found.films.length > 1 ? element("label", {}, "Film of ", chooser) : null;
  show(own);
  return element("section", { "aria-label": "film" }, box, note);
}
