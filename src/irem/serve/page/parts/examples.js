// The bar above the editor: sizes, buttons for examples, an empty problem.

import { button, choice, field } from "../lib/dom.js";
import { examples } from "../lib/server.js";

export class Examples {
  /**
   * `begin()` is told that an example is asked for, `load(problem, label, places)` shows it, `clear()` empties the
   * editor, `fail(error)` says what went wrong.
   */
  constructor(host, { begin, load, clear, fail }) {
    Object.assign(this, { host, begin, load, clear, fail, loading: null });
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

  /** Load an example of the chosen size; `loading` is settled once it is there, or failed. */
  fetch(hard) {
    const loading = this.find(hard).finally(() => {
      if (this.loading === loading) this.loading = null;
    });
    this.loading = loading;
    return loading;
  }

  async find(hard) {
    const ticket = {};
    this.ticket = ticket;
    this.begin();
    try {
      const found = this.kind.own?.(this.size) ?? (await this.asked(hard));
      if (ticket !== this.ticket) return; // something else was chosen or typed meanwhile
      this.load(found.problem, found.label, found.places);
    } catch (error) {
      if (ticket === this.ticket) this.fail(error);
    }
  }

  /** One of the server's examples, or the page's own where the editor cannot show it. */
  async asked(hard) {
    const size = this.kind.own ? null : this.size;
    const problems = await examples(this.model.name, { hard: Number(hard), size });
    if (!problems.length)
      throw new Error("The server has no example of this size; set the problem yourself.");
    const shown = problems.every(({ problem }) => this.kind.suits?.(problem) ?? true);
    if (!shown) return this.kind.instead(this.size, hard);
    return problems[Math.floor(Math.random() * problems.length)];
  }

  /** Forget an example that is on its way: the problem was set in another way. */
  drop() {
    this.ticket = null;
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
