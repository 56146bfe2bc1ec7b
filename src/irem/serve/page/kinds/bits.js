// A line of bits in a text field.

import { drawBits } from "../draw/bits.js";
import { count } from "../lib/numbers.js";
import { element } from "../lib/dom.js";

const textOf = (problem) => (typeof problem === "string" ? problem : (problem?.bits ?? ""));
const entriesOf = (answer) =>
  answer?.entries ?? (answer?.bits ? [...answer.bits].map(Number) : undefined);

export const bits = {
  hint: "Type a line of 0 and 1. Above: the bits; below each: whether the sum up to it is odd.",
  sizes: [16, 32, 64, 128, 256].map((size) => [size, `${size} bits`]),
  sizeName: "Length",
  size: 32,
  plain: "Random",
  empty: (size) => ({ bits: "10".repeat(size / 2) }),
  edit: (host, problem, tools) => new BitsEditor(host, textOf(problem), tools),
  panels(problem, answer) {
    const entries = entriesOf(answer);
    const label = `Answer to ${count(textOf(problem).length, "bit")}: ${(entries ?? []).map((entry) => (entry > 0.5 ? 1 : 0)).join("")}`;
    return [
      {
        title: "Above: the bits. Below: the answer, coloured for one.",
        svg: drawBits(textOf(problem), entries, { label }),
      },
    ];
  },
};

class BitsEditor {
  constructor(host, text, tools) {
    this.area = element("textarea", {
      class: "line",
      "aria-label": "Line of bits",
      spellcheck: "false",
      inputmode: "numeric",
      oninput: () => {
        this.draw();
        tools.changed();
      },
    });
    this.area.value = text;
    this.view = element("div", { class: "board" });
    host.replaceChildren(this.area, this.view);
    this.draw();
  }

  get text() {
    return this.area.value.replace(/[\s,]/g, "");
  }

  draw() {
    const right = /^[01]+$/.test(this.text);
    this.area.setAttribute("aria-invalid", !right);
    this.view.innerHTML = right ? drawBits(this.text) : "";
  }

  problem() {
    const wrong = this.text.match(/[^01]/);
    if (wrong)
      throw new Error(
        `The line has '${wrong[0]}' at place ${wrong.index + 1}; every bit is 0 or 1, correct it.`,
      );
    if (!this.text) throw new Error("The line has no bits; type some of 0 and 1.");
    return { bits: this.text };
  }
}
