// An editor of graphs: nodes that can be dragged, and a list of edges with their lengths.

import { drawGraph, nodeName } from "../draw/graph.js";
import { arranged } from "../draw/layout.js";
import { button, element } from "../lib/dom.js";
import { isNumber } from "../lib/numbers.js";

const MOVES = {
  ArrowLeft: [-0.03, 0],
  ArrowRight: [0.03, 0],
  ArrowUp: [0, -0.04],
  ArrowDown: [0, 0.04],
};
const CLICK = 6; // pixels that a pointer may move during a click

/** The edges of a symmetric matrix of lengths; null and 0 are none. */
export function edgesOf(lengths) {
  const edges = [];
  lengths.forEach((row, a) =>
    row.forEach((_, b) => {
      const length = isNumber(row[b]) ? row[b] : lengths[b][a];
      if (a < b && isNumber(length) && length !== 0) edges.push({ a, b, length });
    }),
  );
  return edges;
}

export class GraphEditor {
  constructor(host, lengths, tools) {
    this.tools = tools;
    this.edges = edgesOf(lengths).map((edge) => ({
      ...edge,
      text: String(Number(edge.length.toPrecision(3))),
    }));
    this.places = tools.places ?? arranged(lengths.length, this.edges);
    this.picked = 0;
    this.joining = false;
    this.board = element("div", {
      class: "board graph",
      onkeydown: (event) => this.key(event),
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => this.drag(event),
      onpointerup: (event) => this.release(event),
      onpointercancel: () => {
        this.held = null;
      },
    });
    this.list = element("div", { class: "edge-list" });
    const bar = element(
      "div",
      { class: "tools" },
      button("Add node", () => this.addNode()),
      (this.remover = button("", () => this.removeNode())),
    );
    host.replaceChildren(this.board, bar, this.list);
    this.draw();
  }

  draw() {
    const focused = document.activeElement?.closest?.("[data-node]")?.dataset.node;
    const edges = this.edges.map(({ a, b, text }) => ({
      a,
      b,
      length: this.tools.lengths && isNumber(Number(text)) ? Number(text) : null,
    }));
    this.board.innerHTML = drawGraph(
      { places: this.places, edges, picked: this.picked, grips: true },
      { label: `Graph of ${this.places.length} nodes and ${edges.length} edges` },
    );
    if (focused !== undefined) this.board.querySelector(`[data-node="${focused}"]`)?.focus();
    this.remover.textContent = `Remove ${nodeName(this.picked)}`;
    this.list.replaceChildren(this.table());
  }

  table() {
    if (!this.edges.length)
      return element("p", { class: "hint", text: "No edges yet: click one node, then another." });
    const rows = this.edges.map((edge) => this.row(edge));
    const head = ["Edge", ...(this.tools.lengths ? ["Length"] : []), "Remove"].map((text) =>
      element("th", { scope: "col", text }),
    );
    return element(
      "table",
      { class: "edges" },
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
    );
  }

  row(edge) {
    const name = `${nodeName(edge.a)}-${nodeName(edge.b)}`;
    const length = element("input", {
      value: edge.text,
      inputmode: "decimal",
      "aria-label": `Length of ${name}`,
      oninput: (event) => {
        edge.text = event.target.value.trim();
        event.target.setAttribute("aria-invalid", !(Number(edge.text) > 0));
        this.redrawBoard();
        this.tools.changed();
      },
    });
    const remove = button("Remove", () => this.toggle(edge.a, edge.b), {
      "aria-label": `Remove ${name}`,
    });
    return element(
      "tr",
      {},
      element("td", { text: name }),
      this.tools.lengths ? element("td", {}, length) : null,
      element("td", {}, remove),
    );
  }

  /** Draw the graph alone, so that the list keeps the focus. */
  redrawBoard() {
    const list = this.list;
    this.list = element("div");
    this.draw();
    this.list = list;
  }

  key(event) {
    const node = this.nodeOf(event);
    if (node === null) return;
    const move = MOVES[event.key];
    if (move) this.move(node, this.places[node].x + move[0], this.places[node].y + move[1]);
    else if (event.key === "Enter" || event.key === " ") this.pick(node);
    else if (event.key === "Delete") {
      this.picked = node;
      this.removeNode();
    } else return;
    event.preventDefault();
  }

  press(event) {
    const node = this.nodeOf(event);
    if (node === null) return;
    this.held = { node, x: event.clientX, y: event.clientY, moved: false };
    this.board.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (!this.held) return;
    this.held.moved ||=
      Math.hypot(event.clientX - this.held.x, event.clientY - this.held.y) > CLICK;
    if (!this.held.moved) return;
    const box = this.board.getBoundingClientRect();
    this.move(
      this.held.node,
      (event.clientX - box.left) / box.width,
      (event.clientY - box.top) / box.height,
    );
  }

  release() {
    const held = this.held;
    this.held = null;
    if (held && !held.moved) this.pick(held.node);
  }

  move(node, x, y) {
    this.places[node] = {
      x: Math.min(Math.max(x, 0.06), 0.94),
      y: Math.min(Math.max(y, 0.07), 0.93),
    };
    this.redrawBoard();
    this.tools.moved();
  }

  /** The first click picks a node; the next one, on another, joins or parts the two. */
  pick(node) {
    if (this.joining && node !== this.picked) {
      this.joining = false;
      this.toggle(this.picked, node);
      return;
    }
    this.joining = !(this.joining && node === this.picked);
    this.picked = node;
    this.tools.say(
      this.joining
        ? `${nodeName(node)} is picked; pick another node to join or part them.`
        : `${nodeName(node)} is picked.`,
      true,
    );
    this.draw();
    this.tools.moved();
  }

  toggle(a, b) {
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const rest = this.edges.filter((edge) => edge.a !== low || edge.b !== high);
    const joined = rest.length === this.edges.length;
    this.edges = joined ? [...rest, { a: low, b: high, text: "1" }] : rest;
    this.tools.say(
      `${nodeName(low)} and ${nodeName(high)} are ${joined ? "joined" : "parted"}.`,
      true,
    );
    this.draw();
    this.tools.changed();
  }

  addNode() {
    this.places = [...this.places, { x: 0.5 + 0.05 * (this.places.length % 5), y: 0.5 }];
    this.picked = this.places.length - 1;
    this.joining = false;
    this.draw();
    this.tools.changed();
  }

  removeNode() {
    if (this.places.length <= 2) {
      this.tools.say("A graph has at least two nodes; add another before you remove this one.");
      return;
    }
    const gone = this.picked;
    const shift = (node) => (node > gone ? node - 1 : node);
    this.places = this.places.filter((_, node) => node !== gone);
    this.edges = this.edges
      .filter(({ a, b }) => a !== gone && b !== gone)
      .map((edge) => ({ ...edge, a: shift(edge.a), b: shift(edge.b) }));
    this.picked = Math.max(0, gone - 1);
    this.joining = false;
    this.draw();
    this.tools.changed();
  }

  clear() {
    this.edges = [];
    this.draw();
  }

  nodeOf(event) {
    const grip = event.target.closest?.("[data-node]");
    return grip ? Number(grip.dataset.node) : null;
  }

  /** The matrix of the graph: null where no edge is, or 0 where edges have no lengths. */
  problem() {
    const none = this.tools.lengths ? null : 0;
    const rows = this.places.map((_, i) => this.places.map((_, j) => (i === j ? 0 : none)));
    for (const { a, b, text } of this.edges) {
      const length = this.tools.lengths ? Number(text.replace(",", ".")) : 1;
      if (!(length > 0))
        throw new Error(
          `The length of ${nodeName(a)}-${nodeName(b)} is '${text}'; a length is a positive number, correct it in the list.`,
        );
      rows[a][b] = rows[b][a] = length;
    }
    return rows;
  }
}
