import { h } from "preact";
import htm from "htm";

export { Fragment, h, render } from "preact";
export { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { signal } from "@preact/signals";
export const html = htm.bind(h);
