// Places for the nodes of a graph: as far apart as the number of edges between them.

const ROUNDS = 120;
const DENSE = 0.6; // share of pairs with an edge from which on a ring is plainer
const MARGIN = 0.1;

/** Places on a ring, as shares of width and height. */
export const ring = (nodes) =>
  Array.from({ length: nodes }, (_, i) => {
    const angle = (2 * Math.PI * i) / nodes - Math.PI / 2;
    return { x: 0.5 + 0.4 * Math.cos(angle), y: 0.5 + 0.4 * Math.sin(angle) };
  });

/** Places for the nodes of a graph; the same for the same graph. */
export function arranged(nodes, edges) {
  if (nodes < 4 || edges.length > (DENSE * nodes * (nodes - 1)) / 2) return ring(nodes);
  const hops = hopsBetween(nodes, edges);
  let places = ring(nodes);
  for (let round = 0; round < ROUNDS; round += 1)
    places = places.map((place, i) => pulled(places, i, hops[i]));
  return fitted(places);
}

/** Where the others want a node to be: each at its distance, near ones with more weight. */
function pulled(places, i, hops) {
  let [x, y, total] = [0, 0, 0];
  places.forEach((other, j) => {
    if (j === i) return;
    const [across, down] = [places[i].x - other.x, places[i].y - other.y];
    const far = Math.hypot(across, down) || 1e-6;
    const weight = 1 / hops[j] ** 2;
    x += weight * (other.x + (across / far) * hops[j] * 0.25);
    y += weight * (other.y + (down / far) * hops[j] * 0.25);
    total += weight;
  });
  return { x: x / total, y: y / total };
}

/** The least number of edges between all pairs; those that are not joined count as three apart. */
function hopsBetween(nodes, edges) {
  const hops = Array.from({ length: nodes }, (_, i) =>
    Array.from({ length: nodes }, (_, j) => (i === j ? 0 : Infinity)),
  );
  for (const { a, b } of edges) hops[a][b] = hops[b][a] = 1;
  for (let k = 0; k < nodes; k += 1)
    for (let i = 0; i < nodes; i += 1)
      for (let j = 0; j < nodes; j += 1) hops[i][j] = Math.min(hops[i][j], hops[i][k] + hops[k][j]);
  return hops.map((row) => row.map((hop) => (hop === Infinity ? 3 : hop)));
}

/** The same places, stretched over the whole drawing. */
function fitted(places) {
  const stretched = (axis) => {
    const all = places.map((place) => place[axis]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return all.map((value) => MARGIN + ((1 - 2 * MARGIN) * (value - low)) / (high - low || 1));
  };
  const [xs, ys] = [stretched("x"), stretched("y")];
  return places.map((_, i) => ({ x: xs[i], y: ys[i] }));
}
