// What is known of a walk so far, collected from the lines of the server.

/** One descent from one first guess: all energies, and the answers of the steps that were kept. */
class Descent {
  energies = [];
  frames = [];
  end = null;

  add({ first, energies, ys, steps }) {
    energies.forEach((energy, i) => {
      this.energies[first + i] = energy;
    });
    ys.forEach((y, i) => this.frames.push({ step: steps ? steps[i] : first + i, y }));
  }

  /** The last answer that was kept up to `step`. */
  at(step) {
    let low = 0;
    let high = this.frames.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.frames[middle].step <= step) low = middle;
      else high = middle - 1;
    }
    return this.frames[low] ?? null;
  }

  get last() {
    return Math.max(this.energies.length - 1, 0);
  }
}

export class Walk {
  descents = [];
  planned = 1;
  budget = null;
  floor = null;
  landscape = null;
  result = null;

  /** Take one line; return its type. */
  add(message) {
    if (message.type === "begin") {
      this.planned = message.starts;
      this.budget = message.budget;
      this.floor = message.floor ?? null;
    } else if (message.type === "steps") this.descent(message.start).add(message);
    else if (message.type === "end") this.descent(message.start).end = message;
    else if (message.type === "landscape") this.landscape = message;
    else if (message.type === "result") this.result = message;
    return message.type;
  }

  descent(start) {
    while (this.descents.length <= start) this.descents.push(new Descent());
    return this.descents[start];
  }

  /** The last step that any descent has reached. */
  get last() {
    return Math.max(0, ...this.descents.map((descent) => descent.last));
  }

  get hasSteps() {
    return this.descents.some((descent) => descent.frames.length > 0);
  }
}
