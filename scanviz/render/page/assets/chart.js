// A chart of times over steps, with a cursor, and zoom by wheel, drag and keys. Drawn as SVG, so it prints and can be read aloud.

const NARROW = innerWidth < 640;
const CHART = { width: NARROW ? 400 : 960, height: 280, numbers: NARROW ? 3 : 6, left: 70, right: 12, top: 12, bottom: 34 };

class Chart {
  /** points are {x, y, why}; picked is called with the x of a point. */
  constructor(label, points, picked) {
    this.points = points;
    this.picked = picked;
    this.logarithmic = false;
    this.cursor = null;
    this.whole = [Math.min(...points.map((each) => each.x)), Math.max(...points.map((each) => each.x))];
    this.range = [...this.whole];
    this.svg = element("svg:svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", tabindex: "0", "aria-label": label });
    this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  visible() {
    return this.points.filter((each) => each.x >= this.range[0] && each.x <= this.range[1]);
  }

  scales() {
    const seen = this.visible();
    const top = Math.max(1, ...seen.map((each) => each.y));
    const low = this.logarithmic ? Math.max(1, Math.min(...seen.map((each) => each.y))) : 0;
    const span = Math.max(this.range[1] - this.range[0], 1e-9);
    const height = CHART.height - CHART.top - CHART.bottom;
    const width = CHART.width - CHART.left - CHART.right;
    const part = (y) => this.logarithmic
      ? Math.log(Math.max(y, low) / low) / Math.max(Math.log(top / low), 1e-9) : y / top;
    return {
      x: (x) => CHART.left + ((x - this.range[0]) / span) * width,
      y: (y) => CHART.top + (1 - part(y)) * height,
      top, low,
      back: (pixel) => this.range[0] + ((pixel - CHART.left) / width) * span,
    };
  }

  /** Steps whose numbers stand below the chart: whole ones, where they are. */
  numbered() {
    const [low, high] = this.range;
    const found = Array.from({ length: CHART.numbers + 1 }, (_, k) => Math.round(low + ((high - low) * k) / CHART.numbers));
    return [...new Set(found)].filter((step) => low <= step && step <= high);
  }

  draw() {
    const { x, y, top, low } = this.scales();
    const bottom = CHART.height - CHART.bottom;
    const parts = [];
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const value = this.logarithmic ? low * (top / low) ** part : top * part;
      parts.push(element("svg:line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y(value), y2: y(value), class: "grid" }),
        element("svg:text", { x: CHART.left - 6, y: y(value) + 4, "text-anchor": "end" }, duration(value)));
    }
    for (const step of this.numbered()) {
      parts.push(element("svg:text", { x: x(step), y: bottom + 18, "text-anchor": "middle", "data-step": step }, count(step)));
    }
    for (const each of this.visible()) {
      const slow = each.why === 3;
      parts.push(element("svg:path", { class: slow ? "mark slow" : "mark", "data-x": each.x, d: slow ? diamond(x(each.x), y(each.y)) : dot(x(each.x), y(each.y)) }));
    }
    if (this.cursor !== null && this.cursor >= this.range[0] && this.cursor <= this.range[1]) {
      parts.push(element("svg:line", { x1: x(this.cursor), x2: x(this.cursor), y1: CHART.top, y2: bottom, class: "cursor" }));
    }
    if (this.drag) {
      const [from, to] = [Math.min(...this.drag), Math.max(...this.drag)];
      parts.push(element("svg:rect", { x: from, y: CHART.top, width: to - from, height: bottom - CHART.top, class: "brush" }));
    }
    this.svg.replaceChildren(...parts);
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * CHART.width;
  }

  nearest(x) {
    return this.visible().reduce((best, each) => (best === null || Math.abs(each.x - x) < Math.abs(best.x - x) ? each : best), null);
  }

  zoom(factor, around) {
    const at = around ?? this.cursor ?? (this.range[0] + this.range[1]) / 2;
    const low = at - (at - this.range[0]) * factor;
    const high = at + (this.range[1] - at) * factor;
    this.show(low, high);
  }

  /** Show a range, never less than four steps and never beyond the ends. */
  show(low, high) {
    const least = Math.min(4, this.whole[1] - this.whole[0]);
    if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
    const shift = low < this.whole[0] ? this.whole[0] - low : high > this.whole[1] ? this.whole[1] - high : 0;
    this.range = [Math.max(this.whole[0], low + shift), Math.min(this.whole[1], high + shift)];
    this.draw();
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.scales().back(this.point(event)));
  }

  press(event) {
    const start = this.point(event);
    const move = (moved) => { this.drag = [start, this.point(moved)]; this.draw(); };
    const end = (ended) => {
      this.svg.removeEventListener("pointermove", move);
      const { back } = this.scales();
      const [from, to] = [start, this.point(ended)].sort((a, b) => a - b);
      this.drag = null;
      if (to - from > 8) this.show(back(from), back(to));
      else this.pick(this.nearest(back(to)));
      this.draw();
    };
    this.svg.setPointerCapture(event.pointerId);
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("pointerup", end, { once: true });
  }

  pick(point) {
    if (point) this.picked(point.x);
  }

  key(event) {
    const places = this.points.map((each) => each.x);
    const next = { ArrowRight: places.find((x) => x > (this.cursor ?? -1)), ArrowLeft: places.findLast((x) => x < (this.cursor ?? Infinity)), Home: places[0], End: places.at(-1) }[event.key];
    if (next !== undefined) this.picked(next);
    else if (event.key === "+" || event.key === "=") this.zoom(0.6);
    else if (event.key === "-") this.zoom(1.7);
    else if (event.key === "0") this.show(...this.whole);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

const dot = (x, y) => `M${(x - 2).toFixed(1)} ${y.toFixed(1)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
const diamond = (x, y) => `M${x.toFixed(1)} ${(y - 4).toFixed(1)}l4 4l-4 4l-4 -4z`;
