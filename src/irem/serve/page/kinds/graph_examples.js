// Graphs that can be drawn well: spread nodes, short edges, lengths that are what one sees.

const TRIES = 20; // places that are tried for every node
const SCALE = 12; // length of an edge across the whole drawing

const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

/** Places that keep away from each other. */
function spread(count) {
  const places = [];
  while (places.length < count) {
    const tried = Array.from({ length: TRIES }, () => ({
      x: 0.1 + 0.8 * Math.random(),
      y: 0.1 + 0.8 * Math.random(),
    }));
    const room = (place) => Math.min(1, ...places.map((other) => distance(place, other)));
    places.push(tried.reduce((best, place) => (room(place) > room(best) ? place : best)));
  }
  return places.sort((a, b) => a.x - b.x); // names run from left to right
}

/** Pairs of nodes, the nearest first; `inTree` marks those that join all nodes as shortly as can be. */
function pairs(places) {
  const found = places.flatMap((a, i) =>
    places.slice(i + 1).map((b, k) => ({ a: i, b: i + 1 + k, far: distance(a, b) })),
  );
  found.sort((one, other) => one.far - other.far);
  let parts = places.map((_, i) => i);
  return found.map((pair) => {
    const [from, to] = [parts[pair.a], parts[pair.b]];
    if (from !== to) parts = parts.map((part) => (part === from ? to : part));
    return { ...pair, inTree: from !== to };
  });
}

function matrixOf(size, edges, value, none) {
  const rows = Array.from({ length: size }, (_, i) =>
    Array.from({ length: size }, (_, j) => (i === j ? 0 : none)),
  );
  for (const edge of edges) rows[edge.a][edge.b] = rows[edge.b][edge.a] = value(edge);
  return rows;
}

/** A graph with lengths in which all nodes are joined; a sparse one has hardly a detour. */
export function roads(size, sparse) {
  const places = spread(size);
  const all = pairs(places);
  const detours = all.filter((pair) => !pair.inTree).slice(0, sparse ? 1 : Math.ceil(size * 0.7));
  const edges = [...all.filter((pair) => pair.inTree), ...detours];
  const length = ({ far }) => Math.max(1, Math.round(SCALE * far));
  return { problem: matrixOf(size, edges, length, null), places, label: `${size} nodes` };
}

/** A graph of two or three parts; with chains, of two long ones. */
export function islands(size, chains) {
  const places = spread(size);
  const tree = pairs(places).filter((pair) => pair.inTree);
  const half = Math.ceil(size / 2);
  const chain = places.slice(1).map((_, i) => ({ a: i, b: i + 1 }));
  const edges = chains
    ? chain.filter(({ b }) => b !== half)
    : tree.slice(0, size - (size > 6 ? 3 : 2));
  return { problem: matrixOf(size, edges, () => 1, 0), places, label: `${size} nodes` };
}
