/** Colours of types. They keep a contrast of 3 on the light and on the dark ground; shapes repeat after them. */
export const COLOURS = ["#6366f1", "#0d9488", "#d9730d", "#db2777", "#2b87d3", "#7d8f12", "#a855f7", "#dc4a3d", "#0891b2", "#a0663a", "#2f9e44", "#7d8796"];
