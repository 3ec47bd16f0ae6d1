export { default as Sigma } from "sigma";
export { default as forceAtlas2 } from "graphology-layout-forceatlas2";
