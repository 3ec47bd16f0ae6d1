/** Pixels in memory: anti-aliased lines and stamps. Software rendering draws these faster than WebGL or paths of a
 * canvas, and the same on every machine. Colours are numbers as the memory of an image has them: 0xBBGGRR. */

const OPAQUE = 0xff000000;

export class Raster {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  /** @param {number} colour */
  clear(colour) {
    this.pixels.fill(OPAQUE | colour);
  }

  /**
   * A line one pixel wide (Wu): each step shares its strength between the two pixels that it passes.
   * `dash` leaves out every other run of that many pixels.
   * @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2
   * @param {number} colour @param {number} strength up to 256 @param {number} [dash]
   */
  line(x1, y1, x2, y2, colour, strength, dash = 0) {
    const { width, height, pixels } = this;
    const isSteep = Math.abs(y2 - y1) > Math.abs(x2 - x1);
    let [a1, b1, a2, b2] = isSteep ? [y1, x1, y2, x2] : [x1, y1, x2, y2];
    if (a1 > a2) [a1, b1, a2, b2] = [a2, b2, a1, b1];
    const [along, across] = isSteep ? [height, width] : [width, height];
    const [stepA, stepB] = isSteep ? [width, 1] : [1, width];
    const slope = a2 - a1 > 1e-6 ? (b2 - b1) / (a2 - a1) : 0;
    const first = Math.max(0, Math.ceil(a1));
    const last = Math.min(along - 1, Math.floor(a2));
    const outer = colour & 0xff00ff;
    const inner = colour & 0xff00;
    let b = b1 + slope * (first - a1);
    for (let a = first; a <= last; a++, b += slope) {
      const low = Math.floor(b);
      if (low < 0 || low >= across - 1 || (dash && ((a - first) / dash) & 1)) continue;
      const place = a * stepA + low * stepB;
      let share = ((1 - b + low) * strength) | 0;
      let old = pixels[place];
      pixels[place] =
        OPAQUE |
        ((((old & 0xff00ff) * (256 - share) + outer * share) >>> 8) & 0xff00ff) |
        ((((old & 0xff00) * (256 - share) + inner * share) >>> 8) & 0xff00);
      share = ((b - low) * strength) | 0;
      old = pixels[place + stepB];
      pixels[place + stepB] =
        OPAQUE |
        ((((old & 0xff00ff) * (256 - share) + outer * share) >>> 8) & 0xff00ff) |
        ((((old & 0xff00) * (256 - share) + inner * share) >>> 8) & 0xff00);
    }
  }

  /**
   * A mask in one colour, centred.
   * @param {import("./shapes.js").Mask} mask @param {number} x @param {number} y @param {number} colour
   * @param {number} strength up to 256
   */
  stamp({ size, cover }, x, y, colour, strength) {
    const { width, height, pixels } = this;
    const left = Math.round(x - size / 2);
    const top = Math.round(y - size / 2);
    const outer = colour & 0xff00ff;
    const inner = colour & 0xff00;
    const from = Math.max(0, -left);
    const to = Math.min(size, width - left);
    for (let row = Math.max(0, -top); row < size && top + row < height; row++) {
      let place = (top + row) * width + left + from;
      for (let column = from; column < to; column++, place++) {
        const share = (cover[row * size + column] * strength) >> 8;
        if (share === 0) continue;
        const old = pixels[place];
        pixels[place] =
          OPAQUE |
          ((((old & 0xff00ff) * (256 - share) + outer * share) >>> 8) & 0xff00ff) |
          ((((old & 0xff00) * (256 - share) + inner * share) >>> 8) & 0xff00);
      }
    }
  }
}

/** A colour of a style sheet, such as `#4b4bc4` or `rgb(75 75 196)`, as a number. @type {(text: string) => number} */
export function colourOf(text) {
  const hex = /^#(..)(..)(..)$/.exec(text.trim());
  const found = hex ? hex.slice(1).map((part) => parseInt(part, 16)) : (text.match(/[\d.]+/g) ?? [0, 0, 0]).map(Number);
  return (Number(found[2]) << 16) | (Number(found[1]) << 8) | Number(found[0]);
}
