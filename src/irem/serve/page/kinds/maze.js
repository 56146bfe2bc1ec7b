// Mazes: walls are drawn with pointer or keyboard, the start and the end are dragged or placed.

import { drawMaze, rowsOfMaze } from "../draw/maze.js";
import { element } from "../lib/dom.js";

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const NAMES = { "#": "wall", " ": "floor", S: "start", E: "end" };

const textOf = (problem) => (typeof problem === "string" ? problem : (problem?.maze ?? ""));

export const maze = {
  hint: "Draw or remove walls with the pointer; drag S and E to move the start and the end. With the keyboard: arrow keys, space for a wall, S and E for the ends.",
  sizes: [9, 11, 15, 21, 31].map((size) => [size, `${size} × ${size}`]),
  sizeName: "Size",
  size: 15,
  plain: "Random",
  hard: "Winding",
  empty: (size) => ({ maze: room(size) }),
  edit: (host, problem, tools) => new MazeEditor(host, textOf(problem), tools),
  panels(problem, answer) {
    const path = answer?.path;
    const cells = (path ?? []).flat().filter((share) => share > 0.5).length;
    const label = `Maze; ${cells} cells are on the path so far`;
    return [
      {
        title: "The stronger the colour, the surer that a cell is on the path.",
        svg: drawMaze(textOf(problem), { path, label }),
      },
    ];
  },
};

/** A room with walls around it. */
function room(size) {
  const line = (row) =>
    Array.from({ length: size }, (_, column) => {
      if (row === 1 && column === 1) return "S";
      if (row === size - 2 && column === size - 2) return "E";
      return row % (size - 1) === 0 || column % (size - 1) === 0 ? "#" : " ";
    }).join("");
  return Array.from({ length: size }, (_, row) => line(row)).join("\n");
}

class MazeEditor {
  constructor(host, text, tools) {
    this.tools = tools;
    const rows = rowsOfMaze(text);
    const width = Math.max(...rows.map((row) => row.length));
    this.cells = rows.map((row) => [...row.padEnd(width)]);
    this.cursor = { row: 1, column: 1 };
    this.brush = null;
    this.board = element("div", {
      class: "board",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "maze editor",
      "aria-label":
        "Maze. Arrow keys move, space sets or removes a wall, S and E place the start and the end.",
      onkeydown: (event) => this.key(event),
      onfocus: () => this.draw(),
      onblur: () => this.draw(),
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => this.drag(event),
      onpointerup: () => {
        this.brush = null;
      },
      onpointercancel: () => {
        this.brush = null;
      },
    });
    host.replaceChildren(this.board);
    this.draw();
  }

  draw() {
    const focused = this.board.matches(":focus-visible");
    this.board.innerHTML = drawMaze(this.text, {
      cursor: focused ? this.cursor : null,
      label: `Maze of ${this.cells.length} by ${this.cells[0].length} cells`,
    });
  }

  get text() {
    return this.cells.map((row) => row.join("")).join("\n");
  }

  key(event) {
    const move = MOVES[event.key];
    const { row, column } = this.cursor;
    if (move) {
      this.cursor = {
        row: clamp(row + move[0], this.cells.length),
        column: clamp(column + move[1], this.cells[0].length),
      };
    } else if (event.key === " ")
      this.put(row, column, this.cells[row][column] === "#" ? " " : "#");
    else if (["s", "e"].includes(event.key.toLowerCase()) && !event.ctrlKey && !event.metaKey)
      this.put(row, column, event.key.toUpperCase());
    else return;
    event.preventDefault();
    this.draw();
    this.tools.say(
      `Row ${this.cursor.row + 1}, column ${this.cursor.column + 1}: ${NAMES[this.cells[this.cursor.row][this.cursor.column]]}.`,
      true,
    );
  }

  /** Begin to draw walls, to remove them, or to drag an end: as the first cell says. */
  press(event) {
    const place = this.cellAt(event);
    if (!place) return;
    const cell = this.cells[place.row][place.column];
    this.brush = cell === "S" || cell === "E" ? cell : cell === "#" ? " " : "#";
    this.board.setPointerCapture(event.pointerId);
    this.paint(place);
  }

  drag(event) {
    const place = this.brush && this.cellAt(event);
    if (place) this.paint(place);
  }

  paint({ row, column }) {
    if (this.cells[row][column] === this.brush) return;
    this.cursor = { row, column };
    this.put(row, column, this.brush);
    this.draw();
  }

  /** Set a cell; an end leaves the cell where it was, and is never overwritten. */
  put(row, column, symbol) {
    const old = this.cells[row][column];
    if (old === "S" || old === "E") return;
    if (symbol === "S" || symbol === "E")
      this.cells = this.cells.map((line) => line.map((cell) => (cell === symbol ? " " : cell)));
    this.cells[row][column] = symbol;
    this.tools.changed();
  }

  cellAt(event) {
    const box = this.board.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * this.cells.length);
    const column = Math.floor(((event.clientX - box.left) / box.width) * this.cells[0].length);
    return this.cells[row]?.[column] === undefined ? null : { row, column };
  }

  clear() {
    this.cells = rowsOfMaze(room(this.cells.length)).map((row) => [...row]);
    this.draw();
  }

  problem() {
    return { maze: this.text };
  }
}

const clamp = (value, length) => Math.min(Math.max(value, 0), length - 1);
