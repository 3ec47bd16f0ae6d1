export { h, render, Fragment } from "preact";
export { useEffect, useRef, useState, useMemo } from "preact/hooks";
export { signal, computed, effect, batch } from "@preact/signals";
import { h } from "preact"; import htm from "htm";
export const html = htm.bind(h);
