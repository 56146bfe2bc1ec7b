// Scales and ticks of a chart with numbers on both axes.

/** Round numbers from `low` to `high`, about `wanted` of them. */
export function ticks(low, high, wanted = 4) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step)
    found.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  return found;
}

/** A map from numbers to places that is even, or even in powers of ten. */
export function scaleOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low > 0 && high / low > 50) return logarithmic(low, high);
  if (high - low > 50 * spreadOfLate(values) && spreadOfLate(values) > 0) return signed(low, high);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const [bottom, top] = [low - room, high + room];
  return {
    share: (value) => (value - bottom) / (top - bottom),
    ticks: ticks(bottom, top),
    name: "",
  };
}

function logarithmic(low, high) {
  const [bottom, top] = [Math.log10(low), Math.log10(high)];
  const room = (top - bottom) * 0.06;
  const powers = ticks(bottom, top).filter((tick) => Number.isInteger(tick));
  return {
    share: (value) =>
      (Math.log10(Math.max(value, low)) - bottom + room) / (top - bottom + 2 * room),
    ticks: powers.map((power) => 10 ** power),
    name: ", logarithmic",
  };
}

/** Logarithmic away from zero on both sides, even near zero. */
function signed(low, high) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(Math.abs(low), Math.abs(high))) - 2);
  const bend = (value) => Math.sign(value) * Math.log10(1 + Math.abs(value) / unit);
  const [bottom, top] = [bend(low), bend(high)];
  const room = (top - bottom) * 0.06;
  const powers = [-1, 1].flatMap((side) => [1, 2, 3].map((power) => side * unit * 10 ** power));
  return {
    share: (value) => (bend(value) - bottom + room) / (top - bottom + 2 * room),
    ticks: [0, ...powers].filter((tick) => tick >= low && tick <= high),
    name: ", logarithmic on both sides of zero",
  };
}

/** How much the later half of the numbers differ. */
function spreadOfLate(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.5)] - sorted[0];
}
