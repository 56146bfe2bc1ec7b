// The answer at one step: the drawings of the chosen start, small ones of all starts, energies and landscape.

import { drawEnergies } from "../draw/energy.js";
import { drawLandscape } from "../draw/landscape.js";
import { element, find } from "../lib/dom.js";
import { count, short } from "../lib/numbers.js";
import { Player, still } from "./player.js";
import { showWaiting } from "./verdict.js";

const MOST_STARTS = 8; // more are not drawn side by side

const truthOf = (panels, kind) => panels[Math.min(kind.compared ?? 0, panels.length - 1)];

export class Answer {
  walk = null;
  start = 0;
  waiting = false;

  constructor() {
    this.player = new Player(
      find("player"),
      () => this.draw(),
      (step, last) => this.describe(step, last),
    );
    this.energy = find("energy-title").closest("section");
    this.landscape = find("landscape-title").closest("section");
    new ResizeObserver(() => this.draw()).observe(find("energy"));
  }

  /** Forget the last walk. */
  clear() {
    this.walk = null;
    this.player.pause();
    for (const part of [find("player"), find("starts"), this.energy, this.landscape])
      part.hidden = true;
    find("verdict").replaceChildren();
    find("panels").replaceChildren(
      element("p", { class: "empty", text: "Press Solve: the answer forms here, step by step." }),
    );
  }

  /** Begin to show a walk of `problem`; the drawings of before stay until the first step is there. */
  begin(walk, problem, kind, context) {
    Object.assign(this, { walk, problem, kind, context, start: 0 });
    showWaiting(find("verdict"));
    this.landscape.hidden = true;
    this.player.begin();
  }

  /** The walk ended early: what is there can still be looked at. */
  stop() {
    this.player.done = true;
    find("verdict").replaceChildren();
    if (this.walk && !this.walk.hasSteps) this.clear();
  }

  /** Lines of the walk have come. */
  grow() {
    const { walk } = this;
    if (walk.result && !this.chosen)
      this.start = Math.min(walk.result.start ?? 0, Math.max(walk.descents.length - 1, 0));
    if (walk.hasSteps && find("player").hidden) this.bringIntoView();
    if (walk.hasSteps) this.player.reach(walk.last, { done: Boolean(walk.result) });
    this.draw();
  }

  /** On a phone the answer lies below what can be seen when it begins. */
  bringIntoView() {
    const section = find("verdict").closest("section");
    if (section.getBoundingClientRect().top > innerHeight * 0.6)
      section.scrollIntoView({ behavior: still.matches ? "auto" : "smooth" });
  }

  describe(step, last) {
    const energy =
      this.walk?.descents[this.start]?.energies[
        Math.min(step, this.walk.descents[this.start].last)
      ];
    return `step ${step.toLocaleString("en")} of ${last.toLocaleString("en")}${typeof energy === "number" ? `, energy ${short(energy)}` : ""}`;
  }

  /** Draw at the next frame, once however often this is called. */
  draw() {
    if (this.waiting || !this.walk?.hasSteps) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.walk?.hasSteps) this.paint();
    });
  }

  paint() {
    const { walk, player } = this;
    this.paintPanels(
      walk.descents[this.start]?.at(player.step) ??
        walk.descents.find((descent) => descent.frames.length).at(player.step),
    );
    this.paintStarts();
    this.paintCharts();
  }

  panelsOf(y) {
    return this.kind.panels(this.problem, y, this.context);
  }

  paintPanels(frame) {
    const panels = this.panelsOf(frame.y);
    const truth = this.walk.result?.truth;
    if (truth)
      panels.push({
        ...truthOf(this.panelsOf(truth), this.kind),
        title: "The exact answer, to compare",
      });
    const host = find("panels");
    host.dataset.kind = this.context.model.kind;
    if (host.childElementCount !== panels.length || !host.querySelector("figure"))
      host.replaceChildren(
        ...panels.map(() =>
          element("figure", { class: "panel" }, element("div"), element("figcaption")),
        ),
      );
    panels.forEach(({ title, svg }, i) => {
      host.children[i].firstChild.innerHTML = svg;
      host.children[i].lastChild.textContent = title;
    });
  }

  paintStarts() {
    const { walk, player } = this;
    const host = find("starts");
    host.hidden = walk.descents.length < 2;
    if (host.hidden) return;
    const shown = walk.descents.slice(0, MOST_STARTS);
    if (host.querySelectorAll("button").length !== shown.length || !host.firstChild) {
      const row = element("div", { class: "row" }, ...shown.map((_, i) => this.startButton(i)));
      host.replaceChildren(
        element("h3", { text: "First guesses side by side" }),
        row,
        element("p", { class: "hint" }),
      );
    }
    host.querySelectorAll("button").forEach((made, i) => this.fillStart(made, i, player.step));
    const more = walk.descents.length - shown.length;
    host.lastChild.textContent =
      more > 0 ? `and ${count(more, "further try").replace("trys", "tries")}` : "";
  }

  startButton(i) {
    const name = element(
      "span",
      {},
      element("span", { class: `swatch series-${i}` }),
      element("span"),
    );
    return element(
      "button",
      {
        type: "button",
        class: "series",
        onclick: () => {
          this.start = i;
          this.chosen = true;
          this.player.label();
          this.draw();
        },
      },
      name,
      element("div", { "aria-hidden": "true" }),
    );
  }

  fillStart(made, i, step) {
    const descent = this.walk.descents[i];
    const frame = descent.at(step);
    const best = this.walk.result?.start === i ? " · best" : "";
    made.setAttribute("aria-pressed", i === this.start);
    made.firstChild.lastChild.textContent = `Start ${i + 1}${best}`;
    made.lastChild.innerHTML = frame ? this.panelsOf(frame.y)[0].svg : "";
  }

  paintCharts() {
    const { walk, player } = this;
    this.energy.hidden = false;
    const host = find("energy");
    const energies = walk.descents.map((descent) => descent.energies);
    const ends = energies
      .map(
        (series, i) =>
          series.length && `start ${i + 1} from ${short(series[0])} to ${short(series.at(-1))}`,
      )
      .filter(Boolean);
    host.innerHTML = drawEnergies(energies, {
      step: player.step,
      last: walk.last,
      width: Math.max(host.clientWidth, 240),
      height: 230,
      label: `Energy against steps: ${ends.slice(0, 4).join("; ")}`,
    });
    if (!walk.landscape) return;
    this.landscape.hidden = false;
    const slice = find("landscape");
    const shown = walk.landscape.paths.map((path, i) =>
      this.pointAt(path, walk.landscape.starts?.[i] ?? i),
    );
    const width = Math.max(slice.clientWidth, 240);
    slice.innerHTML = drawLandscape(walk.landscape, {
      shown,
      width,
      height: Math.min(width * 0.72, 300),
      label: `Slice of the energy with ${count(walk.landscape.paths.length, "path")} to lower energy; each ends at a star`,
    });
  }

  /** Which point of a path belongs to the step that is shown: of long walks not every step has one. */
  pointAt(path, start) {
    const last = this.walk.descents[start]?.last ?? 0;
    return last ? Math.round((Math.min(this.player.step, last) / last) * (path.length - 1)) : 0;
  }
}
