// Puzzles of sizes that the server has no list of: one of each, shuffled in ways that keep its one solution.

const SYMBOLS = "123456789ABCDEFGHIJKLMNOP";
const KNOWN = {
  4: "1.....3..2.....4",
  16:
    "6..29.ED....B4....F.7B.49C..26..45..F8..G.16C.9.DE.CG2.67B54.AF3" +
    ".2....C..F....D...A..G.1.7.5...8.B.76F83...19...386F..B.A9C.G.42" +
    "F.21C.D78..9..B.9....5.G.......6.D....6.B54.3....4.58.....6FE.CD" +
    "C9...4G2ED...81.B.ED...8.....C39.F16ED..3A9C4.5G2.5.3A9..6.8..E7",
};

/** A puzzle of that size, or null where there is none. */
export function shuffledPuzzle(size) {
  const known = KNOWN[size];
  if (!known) return null;
  const names = shuffled([...SYMBOLS.slice(0, size)]);
  const [rows, columns] = [linesInBands(size), linesInBands(size)];
  const cells = rows.flatMap((row) => columns.map((column) => known[row * size + column]));
  return cells.map((cell) => (cell === "." ? "." : names[SYMBOLS.indexOf(cell)])).join("");
}

/** The lines of a grid in another order, those of a band together. */
function linesInBands(size) {
  const band = Math.round(Math.sqrt(size));
  const numbers = Array.from({ length: band }, (_, i) => i);
  return shuffled(numbers).flatMap((one) => shuffled(numbers).map((line) => one * band + line));
}

function shuffled(items) {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
}
