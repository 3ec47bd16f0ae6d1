/** Masks of the marks that stand for nodes: how much of each pixel a shape covers. A mask is computed once per size. */

/** @typedef {{size: number, cover: Uint16Array}} Mask */

const SAMPLES = 4;
const DASHES = 10;

/** Whether a point is inside a shape of radius 1. */
const INSIDE = {
  circle: (/** @type {number} */ x, /** @type {number} */ y) => x * x + y * y <= 1,
  square: (/** @type {number} */ x, /** @type {number} */ y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.89,
  diamond: (/** @type {number} */ x, /** @type {number} */ y) => Math.abs(x) + Math.abs(y) <= 1.25,
  triangle: (/** @type {number} */ x, /** @type {number} */ y) => y <= 0.8 && Math.abs(x) * 1.75 <= y + 1.2,
};

/** @typedef {keyof typeof INSIDE} Shape */

/** @type {Map<string, Mask>} */
const known = new Map();

/** @type {(name: string, reach: number, covers: (x: number, y: number) => boolean) => Mask} */
function mask(name, reach, covers) {
  const found = known.get(name);
  if (found) return found;
  const size = 2 * Math.ceil(reach) + 2;
  const cover = new Uint16Array(size * size);
  for (let place = 0; place < cover.length; place++) {
    const [row, column] = [Math.floor(place / size), place % size];
    let hits = 0;
    for (let part = 0; part < SAMPLES * SAMPLES; part++) {
      const x = column + (part % SAMPLES + 0.5) / SAMPLES - size / 2;
      const y = row + (Math.floor(part / SAMPLES) + 0.5) / SAMPLES - size / 2;
      hits += covers(x, y) ? 1 : 0;
    }
    cover[place] = (256 * hits) / (SAMPLES * SAMPLES);
  }
  const made = { size, cover };
  known.set(name, made);
  return made;
}

/** A filled shape; radii are rounded to half pixels. @type {(shape: Shape, radius: number) => Mask} */
export function filled(shape, radius) {
  const reach = Math.max(0.5, Math.round(radius * 2) / 2);
  return mask(`${shape} ${reach}`, reach * 1.25, (x, y) => INSIDE[shape](x / reach, y / reach));
}

/** A ring around a shape, on request with gaps. @type {(shape: Shape, radius: number, wide: number, isDashed?: boolean) => Mask} */
export function ring(shape, radius, wide, isDashed = false) {
  const [outer, inner] = [Math.round(radius * 2) / 2, Math.round((radius - wide) * 2) / 2];
  return mask(`ring ${shape} ${outer} ${inner} ${isDashed}`, outer * 1.25, (x, y) => {
    if (!INSIDE[shape](x / outer, y / outer) || INSIDE[shape](x / inner, y / inner)) return false;
    return !isDashed || Math.floor(((Math.atan2(y, x) + Math.PI) / (2 * Math.PI)) * 2 * DASHES) % 2 === 0;
  });
}
