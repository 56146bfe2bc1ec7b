// Settings of a walk that most people leave alone: first guesses, steps, tries, the seed.

import { choice, element, field } from "../lib/dom.js";

const UNSET = "";

export class Options {
  constructor(host) {
    this.starts = choice(
      [
        [1, "1"],
        [2, "2"],
        [3, "3"],
        [4, "4"],
      ],
      2,
      () => {},
    );
    this.steps = this.number(1, "automatic");
    this.restarts = this.number(0, "automatic");
    this.seed = this.number(0, "0");
    const fields = element(
      "div",
      { class: "fields" },
      field("First guesses side by side", this.starts),
      field("Steps at most", this.steps),
      field("Further tries", this.restarts),
      field("Seed", this.seed),
    );
    host.replaceChildren(
      element(
        "details",
        { class: "options" },
        element("summary", { text: "Settings of the walk" }),
        fields,
      ),
    );
  }

  number(min, placeholder) {
    return element("input", { type: "number", min, step: 1, placeholder, inputmode: "numeric" });
  }

  /** What was chosen; null is the model's own choice. */
  get chosen() {
    return {
      starts: Number(this.starts.value),
      steps: whole(this.steps),
      restarts: whole(this.restarts),
      seed: whole(this.seed) ?? 0,
    };
  }
}

function whole(input) {
  if (input.value.trim() === UNSET && input.validity.valid) return null;
  const value = Number(input.value);
  const name = input.closest("label").textContent;
  if (!Number.isInteger(value) || !input.validity.valid)
    throw new Error(
      `'${name}' is a whole number of at least ${input.min}, or empty; correct it in the settings of the walk.`,
    );
  return value;
}
