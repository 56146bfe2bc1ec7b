// An editor of tables: a field for every number, or one text where there are too many.

import { element, field } from "../lib/dom.js";
import { isNumber, largest } from "../lib/numbers.js";

const MOST_COLUMNS = 8; // more do not fit on a phone
const MOST_ROWS = 16;
const DIGITS = 5; // of numbers of examples
const WRONG = Symbol("wrong");
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const SIDE_MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const written = (value) => (isNumber(value) ? String(Number(value.toPrecision(DIGITS))) : "");

/** Rows of texts; `unit` is what numbers are rounded to, where there are more digits than fit. */
const textsOf = (rows, unit) =>
  rows.map((row) =>
    row.map((value) => written(unit && isNumber(value) ? Math.round(value / unit) * unit : value)),
  );

/** A hundredth of the power of ten of the largest number. */
const hundredth = (rows) => 10 ** (Math.floor(Math.log10(largest(rows))) - 2);

/** A number, null for an empty text, or WRONG. */
function read(text) {
  const plain = text.trim().replace("−", "-");
  if (plain === "" || /^(nan|na|null|\?)$/i.test(plain)) return null;
  const value = Number(/^-?\d+,\d+$/.test(plain) ? plain.replace(",", ".") : plain);
  return Number.isFinite(value) ? value : WRONG;
}

/** Rows of texts: of tabs, semicolons, commas or spaces, whichever a text has. */
function split(text) {
  const lines = text
    .replace(/\r/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const mark = ["\t", ";", ","].find((one) => text.includes(one));
  return lines.map((line) => (mark ? line.split(mark) : line.trim().split(/\s+/)));
}

export class NumbersEditor {
  constructor(host, rows, tools) {
    this.host = host;
    this.tools = tools;
    this.show(textsOf(rows, tools.holes ? hundredth(rows) : null));
  }

  /** Show rows of texts. */
  show(texts) {
    this.texts = texts;
    // Only what was symmetric is kept so.
    this.isSymmetric =
      this.tools.symmetric &&
      texts.every((row, i) => row.every((text, j) => text === texts[j]?.[i]));
    const fits = (texts[0]?.length ?? 0) <= MOST_COLUMNS && texts.length <= MOST_ROWS;
    this.inputs = null;
    const body = fits ? this.grid() : this.area();
    this.host.replaceChildren(...(this.tools.resizable ? [this.shape()] : []), body);
  }

  grid() {
    this.inputs = this.texts.map((row, i) =>
      row.map((text, j) =>
        element("input", {
          value: text,
          placeholder: this.tools.holes ? " " : "?",
          inputmode: "text",
          autocomplete: "off",
          "aria-label": `Row ${i + 1}, column ${j + 1}`,
          oninput: () => this.typed(i, j),
          onkeydown: (event) => this.key(event, i, j),
          onpaste: (event) => this.paste(event, i, j),
        }),
      ),
    );
    const rows = this.inputs.map((row) =>
      element("tr", {}, ...row.map((input) => element("td", {}, input))),
    );
    return element(
      "table",
      { class: "numbers", "aria-label": "Entries of the problem" },
      element("tbody", {}, ...rows),
    );
  }

  area() {
    const rows = this.texts.map((row) => row.map((text) => text || "NaN").join(", "));
    const made = element("textarea", {
      "aria-label": "Entries of the problem, one row on a line",
      rows: Math.min(this.texts.length, 14),
      wrap: "off",
      spellcheck: "false",
      oninput: () => {
        this.texts = split(made.value);
        this.tools.changed();
      },
    });
    made.value = rows.join("\n");
    return made;
  }

  shape() {
    const sized = (label, value, change) =>
      field(
        label,
        element("input", {
          type: "number",
          min: 1,
          max: 400,
          value,
          onchange: (event) =>
            change(Math.max(1, Math.min(400, Math.round(Number(event.target.value)) || 1))),
        }),
      );
    return element(
      "div",
      { class: "tools" },
      sized("Rows", this.texts.length, (rows) => this.resize(rows, this.texts[0].length)),
      sized("Columns", this.texts[0]?.length ?? 0, (columns) =>
        this.resize(this.texts.length, columns),
      ),
    );
  }

  resize(rows, columns) {
    const blank = this.tools.holes ? "" : "0";
    this.show(
      Array.from({ length: rows }, (_, i) =>
        Array.from({ length: columns }, (_, j) => this.texts[i]?.[j] ?? blank),
      ),
    );
    this.tools.changed();
  }

  typed(i, j) {
    const value = this.inputs[i][j].value;
    this.put(i, j, value);
    if (this.isSymmetric && i !== j && this.inputs[j]?.[i]) {
      this.inputs[j][i].value = value;
      this.put(j, i, value);
    }
    this.tools.changed();
  }

  put(i, j, text) {
    this.texts[i][j] = text;
    const wrong = this.isWrong(text);
    this.inputs[i][j].classList.toggle("wrong", wrong);
    this.inputs[i][j].setAttribute("aria-invalid", wrong);
  }

  isWrong(text) {
    const value = read(text);
    return value === WRONG || (value === null && !this.tools.holes);
  }

  key(event, i, j) {
    const field = event.target;
    const side =
      field.selectionStart === field.selectionEnd &&
      (event.key === "ArrowLeft"
        ? field.selectionStart === 0
        : field.selectionEnd === field.value.length);
    const move = MOVES[event.key] ?? (side ? SIDE_MOVES[event.key] : undefined);
    const next = move && this.inputs[i + move[0]]?.[j + move[1]];
    if (!next) return;
    next.focus();
    next.select();
    event.preventDefault();
  }

  /** Paste a whole table from here on; it grows where it must. */
  paste(event, i, j) {
    const rows = split(event.clipboardData.getData("text"));
    if (rows.length === 1 && rows[0].length === 1) return;
    event.preventDefault();
    const whole = i === 0 && j === 0;
    const height = whole ? rows.length : Math.max(this.texts.length, i + rows.length);
    const width = whole
      ? Math.max(...rows.map((row) => row.length))
      : Math.max(this.texts[0].length, j + Math.max(...rows.map((row) => row.length)));
    this.show(
      Array.from({ length: height }, (_, a) =>
        Array.from(
          { length: width },
          (_, b) => rows[a - i]?.[b - j]?.trim() ?? this.texts[a]?.[b] ?? "",
        ),
      ),
    );
    this.inputs?.forEach((row, a) => row.forEach((input, b) => this.put(a, b, input.value)));
    this.tools.changed();
  }

  clear() {
    this.show(textsOf(this.tools.blank(this.texts[0].length)));
  }

  problem() {
    const width = this.texts[0]?.length ?? 0;
    return this.texts.map((row, i) => {
      if (row.length !== width)
        throw new Error(
          `Row ${i + 1} has ${row.length} entries and row 1 has ${width}; give all rows as many.`,
        );
      return row.map((text, j) => {
        if (this.isWrong(text))
          throw new Error(
            `Row ${i + 1}, column ${j + 1} holds '${text}'; a number is expected${this.tools.holes ? ", or an empty cell for a hole" : ""}, correct it.`,
          );
        return read(text);
      });
    });
  }
}
