// Tabs, keys, and what is chosen.

const VIEWS = [
  ["report", "Report", reportView],
  ["steps", "Steps", stepsView],
  ["picture", "Picture", pictureView],
  ["slots", "Loop variables", slotsView],
  ["rewrites", "Rewrites", rewritesView],
  ["player", "Step by step", playerView],
  ["source", "Lines", sourceView],
];

const KEYS = [
  ["1 to 7", "views"], ["j and k, arrows", "step forward and back"], ["g and G", "first and last step"], ["s or :", "the state at a step and one step back: its number, Enter"], ["f", "first NaN or infinity, and its origin"], ["c", "which inputs reach which outputs; Enter: by which path"], ["p", "play and pause, step by step"], ["[ and ]", "rewrite before and after"], ["arrows and p, at rewrites", "the film: frame back and forward, play and pause"],
  ["/", "search in the picture"], ["o", "open or close the loops of a large picture"], ["l", "choose a loop"], ["+ - 0", "zoom in a chart or picture that has the focus"], ["Escape", "close this help, or choose nothing in the picture"], ["?", "this help"],
];

function start() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const slowest = [...data.loops].sort((a, b) => b.total_ns - a.total_ns)[0];
  const wanted = loopOf(Number(kept.get("loop")));
  Object.assign(state, {
    loop: (kept.get("loop") && wanted ? wanted : slowest)?.key ?? null,
    step: Math.max(0, Number(kept.get("step")) || 0),
    rewrite: Math.max(0, Number(kept.get("rewrite")) || 0),
    view: VIEWS.some(([name]) => name === kept.get("view")) ? kept.get("view") : "report",
  });
  loopsOpen = kept.get("open") === "1";
  const run = data.run;
  document.getElementById("summary").textContent = `${run.machine || "an unknown machine"}; scanviz ${run.scanviz}, Python ${run.python}, NumPy ${run.numpy}; ${run.started}${run.arguments.length ? `; arguments: ${run.arguments.join(" ")}` : ""}`;
  tabs();
  chooser();
  keys();
  listeners.push(render);
  render(["view"]);
}

function tabs() {
  const list = document.getElementById("tabs");
  VIEWS.forEach(([name, title], k) => {
    const tab = button(title, () => choose({ view: name }), { role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-keyshortcuts": String(k + 1) });
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = VIEWS[(k + step + VIEWS.length) % VIEWS.length][0];
      choose({ view: next });
      document.getElementById(`tab-${next}`).focus();
    });
    list.append(tab);
    document.getElementById("views").append(element("section", { role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "-1" }));
  });
}

/** Draw the view that is shown, and before printing all of them. */
function render(changed) {
  document.getElementById("step").value = state.step;
  document.getElementById("loop").value = state.loop ?? "";
  if (!changed.some((each) => ["view", "loop"].includes(each))) return;
  listeners.length = 1;
  for (const [name, , draw] of VIEWS) {
    const shownNow = name === state.view;
    const panel = document.getElementById(`view-${name}`);
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", shownNow);
    tab.tabIndex = shownNow ? 0 : -1;
    if (shownNow) tab.parentElement.scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - tab.parentElement.clientWidth / 2;
    panel.hidden = !shownNow;
    panel.replaceChildren(...(shownNow ? [draw()] : []));
  }
}

function chooser() {
  const select = document.getElementById("loop");
  select.append(...[...data.loops].sort((a, b) => b.total_ns - a.total_ns).map((each) => element("option", { value: each.key }, each.name)));
  select.addEventListener("change", () => choose({ loop: Number(select.value) }));
  const step = document.getElementById("step");
  // A step that is asked for is shown: where no step is looked at, step by step.
  step.addEventListener("change", () => choose({ step: Math.max(0, Math.floor(Number(step.value) || 0)), view: state.view === "steps" ? "steps" : "player" }));
  step.addEventListener("keydown", (event) => { if (event.key === "Enter") step.blur(); });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.getElementById("help").append(table("Keys", [{ name: "key" }, { name: "action" }], KEYS));
  document.getElementById("help-button").addEventListener("click", help);
}

function help() {
  const box = document.getElementById("help");
  box.hidden = !box.hidden;
  document.getElementById("help-button").setAttribute("aria-expanded", !box.hidden);
}

/** Close what is open: the help, then what is chosen in the picture; out of a field, back to the page. */
function escape() {
  const box = document.getElementById("help");
  document.activeElement?.blur();
  if (!box.hidden) {
    help();
    document.getElementById("help-button").focus();
  } else if (state.view === "picture") pictureShown?.clear();
}

/** Let the number of a step be typed. */
function askStep() {
  document.getElementById("step").select();
}

function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { escape(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const last = Math.max(0, (loopOf(state.loop)?.longest_run ?? 1) - 1);
    const applications = functionOf(loopOf(state.loop)?.function)?.rewrites?.applications.length ?? 0;
    const forward = () => choose({ step: Math.min(last, state.step + 1) });
    const back = () => choose({ step: Math.max(0, state.step - 1) });
    const film = filmShown?.element.isConnected && state.view === "rewrites" ? filmShown : null;
    const act = {
      j: forward, k: back, ArrowRight: forward, ArrowLeft: back,
      g: () => choose({ step: 0 }), G: () => choose({ step: last }),
      "[": () => choose({ view: "rewrites", rewrite: Math.max(0, state.rewrite - 1) }),
      "]": () => choose({ view: "rewrites", rewrite: Math.max(0, Math.min(applications - 1, state.rewrite + 1)) }),
      "/": () => { choose({ view: "picture" }); document.getElementById("search")?.focus(); },
      f: goToFirstBad, p: () => { choose({ view: "player" }); playPause(last); },
      o: () => { choose({ view: "picture" }); foldLoops(!loopsOpen); },
      c: goToConnections, s: askStep, ":": askStep,
      l: () => document.getElementById("loop").focus(), "?": help,
      ...(film ? { ArrowRight: () => film.move(1), ArrowLeft: () => film.move(-1), p: () => film.play() } : {}),
    }[event.key] ?? (VIEWS[Number(event.key) - 1] ? () => choose({ view: VIEWS[Number(event.key) - 1][0] }) : null);
    if (!act) return;
    event.preventDefault();
    act();
  });
  addEventListener("beforeprint", () => {
    for (const [name, , draw] of VIEWS) {
      const panel = document.getElementById(`view-${name}`);
      panel.hidden = false;
      if (!panel.children.length) panel.replaceChildren(draw());
    }
  });
  addEventListener("afterprint", () => render(["view"]));
}

start();
