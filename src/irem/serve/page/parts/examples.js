// The bar above the editor: sizes, buttons for examples, an empty problem.

import { button, choice, field } from "../lib/dom.js";
import { examples } from "../lib/server.js";

export class Examples {
  /** `load(problem, label)` shows a problem, `clear()` empties the editor, `fail(error)` says what went wrong. */
  constructor(host, { load, clear, fail }) {
    Object.assign(this, { host, load, clear, fail });
  }

  show(model, kind) {
    Object.assign(this, { model, kind });
    const sizes = sizesFor(model, kind);
    this.size = sizes.some(([size]) => size === kind.size) ? kind.size : sizes[0]?.[0];
    const parts = [];
    if (sizes.length > 1)
      parts.push(
        field(
          kind.sizeName,
          choice(sizes, this.size, (size) => {
            this.size = Number(size);
            this.fetch(false);
          }),
        ),
      );
    if (kind.plain) parts.push(button(kind.plain, () => this.fetch(false)));
    if (kind.hard) parts.push(button(kind.hard, () => this.fetch(true)));
    parts.push(button("Clear", () => this.clear()));
    this.host.replaceChildren(...parts);
  }

  /** Load one of the server's examples; where it has none, an empty problem. */
  async fetch(hard) {
    const model = this.model;
    try {
      const problems = await examples(model.name, { hard: Number(hard), size: this.size });
      if (model !== this.model) return; // another model was chosen meanwhile
      if (!problems.length)
        throw new Error("The server has no example of this size; set the problem yourself.");
      const { problem, label } = problems[Math.floor(Math.random() * problems.length)];
      this.load(problem, label);
    } catch (error) {
      if (model === this.model) this.fail(error);
    }
  }

  get empty() {
    return this.kind.empty(this.size);
  }
}

/** The sizes of a kind that a model takes. */
function sizesFor(model, kind) {
  const { min = 0, max = Infinity } = model.sizes ?? {};
  return (kind.sizes ?? []).filter(([size]) => size >= (min ?? 0) && size <= (max ?? Infinity));
}
