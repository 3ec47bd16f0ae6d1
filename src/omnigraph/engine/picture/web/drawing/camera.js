/** The part of the plane that is shown: a middle, and pixels per unit. Pure arithmetic. */

const SCALE_MIN = 0.5;
const SCALE_MAX = 2000;
/** Pixels per unit beyond which a small drawing is not enlarged. */
const SCALE_FIT_MAX = 95;
const MARGIN = 44;
/** How much wider than high a drawing may be made to fill its place. */
const STRETCH_MIN = 0.75;
const STRETCH_MAX = 1.6;

export class Camera {
  x = 0;
  y = 0;
  scale = 60;
  /** Widening of the horizontal axis. */
  stretch = 1;
  width = 1;
  height = 1;
  /** Pixels above and below the drawing that its furniture covers. */
  above = 0;
  below = 0;

  /** @param {{x: number, y: number}} point @returns {[number, number]} */
  toScreen({ x, y }) {
    return [(x - this.x) * this.scale * this.stretch + this.width / 2, (y - this.y) * this.scale + this.height / 2];
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toWorld(x, y) {
    return [(x - this.width / 2) / (this.scale * this.stretch) + this.x, (y - this.height / 2) / this.scale + this.y];
  }

  /** Move by pixels. @param {number} x @param {number} y */
  pan(x, y) {
    this.x -= x / (this.scale * this.stretch);
    this.y -= y / this.scale;
  }

  /** Zoom, keeping a point of the screen in its place. @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const [worldX, worldY] = this.toWorld(x, y);
    this.scale = Math.min(SCALE_MAX, Math.max(SCALE_MIN, this.scale * factor));
    this.x = worldX - (x - this.width / 2) / (this.scale * this.stretch);
    this.y = worldY - (y - this.height / 2) / this.scale;
  }

  /** Show all of some points. @param {{x: number, y: number}[]} points @param {number} [scaleMax] */
  fit(points, scaleMax = SCALE_FIT_MAX) {
    if (!points.length) return;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { x, y } of points) {
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    const wide = Math.max(40, this.width - 2 * MARGIN) / Math.max(right - left, 0.5);
    const high = Math.max(40, this.height - this.above - this.below - MARGIN) / Math.max(bottom - top, 0.5);
    this.stretch = Math.min(STRETCH_MAX, Math.max(STRETCH_MIN, wide / high));
    this.scale = Math.max(SCALE_MIN, Math.min(wide / this.stretch, high, scaleMax));
    this.x = (left + right) / 2;
    this.y = (top + bottom) / 2 + (this.below - this.above) / 2 / this.scale;
  }
}
