// Sudoku: a grid of fields, one tab stop, arrow keys, and whole puzzles by pasting.

import { boxOf, drawSudoku, isOpen, sizeOf } from "../draw/sudoku.js";
import { element } from "../lib/dom.js";
import { shuffledPuzzle } from "./puzzle_examples.js";

const SYMBOLS = "123456789ABCDEFGHIJKLMNOP";
const SIZES = [4, 9, 16];
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

const gridOf = (problem) => (typeof problem === "string" ? problem : (problem?.grid ?? ""));

export const puzzle = {
  hint: "Type symbols, move with the arrow keys, or paste a whole puzzle into any cell (81 characters, a dot or 0 for an empty cell).",
  sizes: SIZES.map((size) => [size, `${size} × ${size}`]),
  sizeName: "Size",
  size: 9,
  plain: "Easy one",
  hard: "Hard one",
  own(size) {
    const grid = shuffledPuzzle(size);
    const givens = [...(grid ?? "")].filter((cell) => !isOpen(cell)).length;
    return grid && { problem: { grid }, label: `${size} × ${size}, ${givens} givens` };
  },
  empty: (size) => ({ grid: ".".repeat(size * size) }),
  edit: (host, problem, tools) => new PuzzleEditor(host, gridOf(problem), tools),
  panels(problem, answer) {
    const [given, found] = [gridOf(problem), gridOf(answer)];
    const open = [...given].filter(isOpen).length;
    const left = [...found].filter(isOpen).length;
    const label = `Puzzle of ${sizeOf(given)} by ${sizeOf(given)} cells; ${open - left} of ${open} open cells have a symbol: ${found}`;
    return [
      {
        title: "Bold: given. Coloured: found.",
        svg: drawSudoku(given, found, { certainty: answer?.certainty, label }),
      },
    ];
  },
};

class PuzzleEditor {
  constructor(host, grid, tools) {
    this.tools = tools;
    this.host = host;
    this.show(grid);
  }

  show(grid) {
    this.size = sizeOf(grid);
    this.inputs = [...grid].map((character, place) =>
      this.field(isOpen(character) ? "" : character, place),
    );
    const frame = element(
      "div",
      {
        class: `cells of-${this.size}`,
        role: "group",
        "aria-label": `Sudoku of ${this.size} by ${this.size} cells`,
      },
      ...this.inputs,
    );
    frame.style.gridTemplate = `repeat(${this.size}, 1fr) / repeat(${this.size}, 1fr)`;
    frame.addEventListener("keydown", (event) => this.key(event));
    frame.addEventListener("paste", (event) => this.paste(event));
    this.inputs[0].tabIndex = 0;
    this.host.replaceChildren(frame);
  }

  field(value, place) {
    const [row, column, box] = [Math.floor(place / this.size), place % this.size, boxOf(this.size)];
    const ends = (at) => (at === this.size - 1 ? "last" : (at + 1) % box === 0 ? "box" : "");
    const names = [ends(column) && `${ends(column)}-right`, ends(row) && `${ends(row)}-below`]
      .filter(Boolean)
      .join(" ");
    return element("input", {
      value,
      class: names,
      tabindex: -1,
      autocomplete: "off",
      spellcheck: "false",
      inputmode: this.size <= 9 ? "numeric" : "text",
      "aria-label": `Row ${row + 1}, column ${column + 1}`,
      oninput: (event) => this.typed(event.target),
      onfocus: (event) => this.focused(event.target),
    });
  }

  focused(input) {
    for (const other of this.inputs) other.tabIndex = other === input ? 0 : -1;
    input.select();
  }

  /** Keep the last character that was typed, if it is a symbol of this grid. */
  typed(input) {
    const character = input.value.trim().slice(-1).toUpperCase();
    input.value = isOpen(character || ".") ? "" : character;
    const wrong = input.value !== "" && !this.symbols.includes(input.value);
    input.classList.toggle("wrong", wrong);
    input.setAttribute("aria-invalid", wrong);
    if (wrong)
      this.tools.say(
        `'${character}' is no symbol of this grid; type ${this.symbols[0]} to ${this.symbols.at(-1)}, or a dot to empty the cell.`,
      );
    this.tools.changed();
  }

  get symbols() {
    return SYMBOLS.slice(0, this.size);
  }

  key(event) {
    const move = MOVES[event.key];
    const place = this.inputs.indexOf(event.target);
    if (!move || place < 0) return;
    const row = (Math.floor(place / this.size) + move[0] + this.size) % this.size;
    const column = ((place % this.size) + move[1] + this.size) % this.size;
    this.inputs[row * this.size + column].focus();
    event.preventDefault();
  }

  paste(event) {
    const text = event.clipboardData
      .getData("text")
      .replace(/[\s|+]/g, "")
      .replace(/[_*]/g, ".")
      .toUpperCase();
    if (text.length <= 1) return;
    event.preventDefault();
    if (!SIZES.includes(Math.sqrt(text.length))) {
      this.tools.say(
        `The text has ${text.length} characters; a puzzle has 16, 81 or 256, with a dot or 0 for an empty cell.`,
      );
      return;
    }
    this.show(text);
    this.inputs[0].focus();
    for (const input of this.inputs) if (input.value) this.typed(input);
    this.tools.changed();
  }

  clear() {
    this.show(".".repeat(this.size ** 2));
  }

  problem() {
    const wrong = this.inputs.find((input) => input.value && !this.symbols.includes(input.value));
    if (wrong)
      throw new Error(
        `${wrong.getAttribute("aria-label")} holds '${wrong.value}'; type ${this.symbols[0]} to ${this.symbols.at(-1)} or empty the cell.`,
      );
    return { grid: this.inputs.map((input) => input.value || ".").join("") };
  }
}
