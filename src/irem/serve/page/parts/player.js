// The slider over steps, and play and pause. While steps arrive the player follows them at a pace that eyes can follow.

import { button, element } from "../lib/dom.js";

const WHOLE = 2.5; // seconds in which a walk is played
const SLOWEST = 4; // steps per second, of short walks
export const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Player {
  step = 0;
  last = 0;
  playing = false;

  /** `onstep` is told the step to show, `describe` says it in words. */
  constructor(host, onstep, describe) {
    this.host = host;
    this.onstep = onstep;
    this.describe = describe;
    this.toggle = button("Play", () => (this.playing ? this.pause() : this.play()));
    this.slider = element("input", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      step: 1,
      "aria-label": "Step of the descent",
      oninput: () => {
        this.pause();
        this.show(Number(this.slider.value));
      },
    });
    this.output = element("output");
    host.replaceChildren(this.toggle, this.slider, this.output);
  }

  /** Begin with a new walk: follow it as it comes, or show its newest step at once where motion is not wanted. */
  begin() {
    this.last = 0;
    this.done = false;
    this.following = still.matches;
    this.host.hidden = true;
    this.step = 0;
    if (!still.matches) this.play();
  }

  /** More steps are there. */
  reach(last, { done = false } = {}) {
    this.last = last;
    this.done = done;
    this.slider.max = last;
    this.host.hidden = false;
    if (this.following) this.show(last);
    else this.label();
  }

  play() {
    if (this.step >= this.last && this.done) this.step = 0;
    this.following = false;
    this.playing = true;
    this.toggle.textContent = "Pause";
    this.before = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.following = false;
    this.toggle.textContent = "Play";
  }

  tick(now) {
    if (!this.playing) return;
    const pace = Math.max(SLOWEST, this.last / WHOLE);
    const ahead = Math.floor(((now - this.before) / 1000) * pace);
    if (ahead > 0) {
      this.before += (ahead / pace) * 1000;
      if (this.step < this.last) this.show(Math.min(this.step + ahead, this.last));
    }
    if (this.step >= this.last && this.done) this.pause();
    else requestAnimationFrame((later) => this.tick(later));
  }

  show(step) {
    this.step = step;
    this.slider.value = step;
    this.label();
    this.onstep(step);
  }

  label() {
    const words = this.describe(this.step, this.last);
    this.output.textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
  }
}
