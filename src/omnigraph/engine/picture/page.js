"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const canvas = byId("canvas"), context = canvas.getContext("2d");
  // Colours of Okabe and Ito, which people with any kind of colour vision tell apart; shapes repeat after them.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#b8a800", "#7f7f7f"];
  const CAPTIONS_MAX = 60;
  const colour = (type) => COLOURS[type % COLOURS.length];
  const shape = (type) => Math.floor(type / COLOURS.length) % 3;

  const nodes = data.nodes.map(([x, y, type, caption, id, properties]) =>
    ({ x, y, type, caption, id, properties, degree: 0, edges: [] }));
  const edges = data.edges.map(([source, target, type, properties]) =>
    ({ source: nodes[source], target: nodes[target], type, properties, bend: 0 }));
  const pairs = new Map();
  edges.forEach((edge, index) => {
    edge.source.degree += 1; edge.target.degree += 1;
    edge.source.edges.push(edge);
    if (edge.target !== edge.source) edge.target.edges.push(edge);
    const ends = data.edges[index], key = Math.min(ends[0], ends[1]) + "-" + Math.max(ends[0], ends[1]);
    if (!pairs.has(key)) pairs.set(key, []);
    pairs.get(key).push([edge, ends[0] <= ends[1] ? 1 : -1]);
  });
  for (const together of pairs.values())
    // Parallel edges bend away from each other; a bend has a sign relative to the direction of its edge.
    together.forEach(([edge, sign], place) => { edge.bend = sign * (place - (together.length - 1) / 2) * 0.35; });
  const size = Math.min(1.2, Math.max(0.55, Math.sqrt(120 / Math.max(1, nodes.length))));
  nodes.forEach((node) => { node.radius = Math.min(15, 5 + 1.6 * Math.sqrt(node.degree)) * size; });
  const ranked = [...nodes].sort((a, b) => b.degree - a.degree);

  const hiddenNodes = new Set(), hiddenEdges = new Set();
  let view = { x: 0, y: 0, scale: 60 }, hovered = null, found = null, width = 0, height = 0, waiting = false, isMoved = false;
  const isShown = (node) => !hiddenNodes.has(node.type);
  const isDrawn = (edge) => !hiddenEdges.has(edge.type) && isShown(edge.source) && isShown(edge.target);
  const toScreen = (node) => [(node.x - view.x) * view.scale + width / 2, (node.y - view.y) * view.scale + height / 2];
  const toWorld = (x, y) => [(x - width / 2) / view.scale + view.x, (y - height / 2) / view.scale + view.y];
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function fit() {
    isMoved = false;
    const seen = nodes.filter(isShown);
    if (!seen.length) return;
    const xs = seen.map((node) => node.x), ys = seen.map((node) => node.y);
    const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
    view.x = (low[0] + high[0]) / 2; view.y = (low[1] + high[1]) / 2;
    const room = [Math.max(40, width - 90), Math.max(40, height - 90)];
    view.scale = Math.min(room[0] / Math.max(high[0] - low[0], 0.5), room[1] / Math.max(high[1] - low[1], 0.5), 190);
    draw();
  }

  function zoom(factor, x = width / 2, y = height / 2) {
    const [worldX, worldY] = toWorld(x, y);
    isMoved = true;
    view.scale = Math.min(2000, Math.max(2, view.scale * factor));
    view.x = worldX - (x - width / 2) / view.scale; view.y = worldY - (y - height / 2) / view.scale;
    draw();
  }

  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  }

  const emphasis = (node) => {
    if (found) return found.has(node);
    if (!hovered || !hovered.caption) return true;
    return node === hovered || hovered.edges.some((edge) => isDrawn(edge) && (edge.source === node || edge.target === node));
  };

  function curve(edge) {
    const [x1, y1] = toScreen(edge.source), [x2, y2] = toScreen(edge.target);
    if (edge.source === edge.target) {
      const size = edge.source.radius + 14 + 10 * Math.abs(edge.bend);
      return { loop: true, x: x1, y: y1 - edge.source.radius - size / 2, size: size / 2, mid: [x1, y1 - edge.source.radius - size] };
    }
    const along = Math.hypot(x2 - x1, y2 - y1) || 1, bend = edge.bend * Math.min(along, 160);
    const cx = (x1 + x2) / 2 - (y2 - y1) / along * bend, cy = (y1 + y2) / 2 + (x2 - x1) / along * bend;
    const pull = Math.hypot(x2 - cx, y2 - cy) || 1, gap = edge.target.radius + 2;
    const end = [x2 - (x2 - cx) / pull * gap, y2 - (y2 - cy) / pull * gap];
    return { loop: false, x1, y1, cx, cy, end, angle: Math.atan2(y2 - cy, x2 - cx), mid: [(x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4] };
  }

  function paintEdge(edge, strong) {
    const at = curve(edge);
    context.beginPath();
    if (at.loop) {
      context.arc(at.x, at.y, at.size, 0, 2 * Math.PI);
      context.stroke();
    } else {
      context.moveTo(at.x1, at.y1);
      context.quadraticCurveTo(at.cx, at.cy, at.end[0], at.end[1]);
      context.stroke();
      const size = strong ? 8 : 6;
      context.beginPath();
      context.moveTo(at.end[0], at.end[1]);
      for (const side of [0.42, -0.42])
        context.lineTo(at.end[0] - size * Math.cos(at.angle + side), at.end[1] - size * Math.sin(at.angle + side));
      context.fill();
    }
    return at.mid;
  }

  function outline(x, y, radius, form) {
    context.beginPath();
    if (form === 0) context.arc(x, y, radius, 0, 2 * Math.PI);
    else if (form === 1) context.rect(x - radius * 0.88, y - radius * 0.88, radius * 1.76, radius * 1.76);
    else { context.moveTo(x, y - radius * 1.2); context.lineTo(x + radius * 1.2, y); context.lineTo(x, y + radius * 1.2); context.lineTo(x - radius * 1.2, y); context.closePath(); }
  }

  function label(text, x, y, faint) {
    const cut = text.length > 34 ? text.slice(0, 33) + "…" : text;
    context.lineWidth = 3.5; context.strokeStyle = style("--ground"); context.strokeText(cut, x, y);
    context.fillStyle = style(faint ? "--faint" : "--text"); context.fillText(cut, x, y);
  }

  function paint() {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.lineJoin = "round"; context.textAlign = "center"; context.textBaseline = "middle";
    const line = style("--line"), strongEdges = [], labels = [];
    const drawn = edges.filter(isDrawn), withTypes = drawn.length <= 40 || view.scale > 220;
    const usual = Math.min(0.75, Math.max(0.25, 0.75 * Math.sqrt(260 / Math.max(1, drawn.length))));
    for (const edge of drawn) {
      const strong = hovered === edge || hovered === edge.source || hovered === edge.target;
      if (strong) { strongEdges.push(edge); continue; }
      const clear = emphasis(edge.source) && emphasis(edge.target);
      context.globalAlpha = clear && !(hovered && hovered.caption) ? usual : 0.12;
      context.strokeStyle = context.fillStyle = line; context.lineWidth = 1.1;
      const mid = paintEdge(edge, false);
      if (withTypes && clear) labels.push([data.edgeTypes[edge.type].name, mid]);
    }
    context.globalAlpha = 1;
    for (const edge of strongEdges) {
      context.strokeStyle = context.fillStyle = style("--text"); context.lineWidth = 1.8;
      labels.push([data.edgeTypes[edge.type].name, paintEdge(edge, true)]);
    }
    for (const node of nodes) {
      if (!isShown(node)) continue;
      const [x, y] = toScreen(node);
      context.globalAlpha = emphasis(node) ? 1 : 0.2;
      outline(x, y, node.radius, shape(node.type));
      context.fillStyle = colour(node.type); context.fill();
      context.lineWidth = node === hovered ? 2.5 : 1.2;
      context.strokeStyle = style(node === hovered ? "--text" : "--ground"); context.stroke();
    }
    context.globalAlpha = 1;
    context.font = "10.5px system-ui, sans-serif";
    for (const [text, [x, y]] of labels.slice(0, 200)) label(text, x, y, true);
    captions();
  }

  function captions() {
    context.font = "12px system-ui, sans-serif";
    const taken = [];
    let written = 0;
    const first = ranked.filter((node) => isShown(node) && emphasis(node));
    if (hovered && hovered.caption) first.unshift(hovered);
    for (const node of first) {
      if (written >= CAPTIONS_MAX * Math.max(1, view.scale / 60)) break;
      const [x, y] = toScreen(node);
      if (x < -60 || y < -20 || x > width + 60 || y > height + 20) continue;
      const half = Math.min(34, node.caption.length) * 3.2 + 4, low = y + node.radius + 9;
      // A caption that would cover another one is left out; zooming in makes room for it.
      if (node !== hovered && taken.some((box) => Math.abs(box[0] - x) < box[2] + half && Math.abs(box[1] - low) < 14)) continue;
      taken.push([x, low, half]);
      label(node.caption, x, low, false);
      written += 1;
    }
  }

  function nodeAt(x, y) {
    let best = null, least = Infinity;
    for (const node of nodes) {
      if (!isShown(node)) continue;
      const [nodeX, nodeY] = toScreen(node), away = Math.hypot(nodeX - x, nodeY - y);
      if (away < node.radius + 5 && away < least) { best = node; least = away; }
    }
    return best;
  }

  function edgeAt(x, y) {
    for (const edge of edges) {
      if (!isDrawn(edge)) continue;
      const at = curve(edge);
      if (at.loop) { if (Math.abs(Math.hypot(x - at.x, y - at.y) - at.size) < 5) return edge; continue; }
      for (let step = 1; step < 16; step += 1) {
        const t = step / 16, u = 1 - t;
        const px = u * u * at.x1 + 2 * u * t * at.cx + t * t * at.end[0], py = u * u * at.y1 + 2 * u * t * at.cy + t * t * at.end[1];
        if (Math.hypot(px - x, py - y) < 6) return edge;
      }
    }
    return null;
  }

  function element(name, text) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function show(thing) {
    const details = byId("details");
    details.hidden = !thing;
    if (!thing) return;
    const isNode = thing.caption !== undefined, list = element("dl");
    const title = isNode ? thing.caption : thing.source.caption + " → " + thing.target.caption;
    const type = isNode ? data.nodeTypes[thing.type].name : data.edgeTypes[thing.type].name;
    for (const [name, value] of [["type", type], ...thing.properties]) list.append(element("dt", name), element("dd", value));
    details.replaceChildren(element("strong", title), list);
  }

  function hover(x, y) {
    const thing = nodeAt(x, y) || edgeAt(x, y);
    if (thing === hovered) return;
    hovered = thing;
    show(thing);
    draw();
  }

  const pointers = new Map();
  let dragged = null, spread = 0;
  const local = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    isMoved = true;
    const [x, y] = local(event);
    pointers.set(event.pointerId, [x, y]);
    dragged = pointers.size === 1 ? nodeAt(x, y) : null;
    canvas.classList.add("held");
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = local(event), last = pointers.get(event.pointerId);
    if (!last) { hover(x, y); return; }
    pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) zoom(apart / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = apart;
    } else if (dragged) {
      [dragged.x, dragged.y] = toWorld(x, y);
      draw();
    } else {
      view.x -= (x - last[0]) / view.scale; view.y -= (y - last[1]) / view.scale;
      draw();
    }
  });
  const release = (event) => { pointers.delete(event.pointerId); spread = 0; dragged = null; canvas.classList.remove("held"); };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (!pointers.size && hovered) { hovered = null; show(null); draw(); } });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.0016), ...local(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 40 / view.scale;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (event.key in moves) { isMoved = true; view.x += moves[event.key][0]; view.y += moves[event.key][1]; draw(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  byId("in").addEventListener("click", () => zoom(1.3));
  byId("out").addEventListener("click", () => zoom(1 / 1.3));
  byId("fit").addEventListener("click", fit);

  byId("search").addEventListener("input", (event) => {
    const text = event.target.value.trim().toLowerCase();
    const fits = (node) => [node.caption, node.id, ...node.properties.map(([, value]) => value)]
      .some((value) => value.toLowerCase().includes(text));
    found = text ? new Set(nodes.filter(fits)) : null;
    byId("matches").textContent = found ? found.size + (found.size === 1 ? " match" : " matches") : "";
    draw();
  });

  function swatch(type, isEdge) {
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    mark.setAttribute("width", "14"); mark.setAttribute("height", "12"); mark.setAttribute("aria-hidden", "true");
    const form = document.createElementNS("http://www.w3.org/2000/svg", isEdge ? "path" : ["circle", "rect", "path"][shape(type)]);
    const place = isEdge ? { d: "M1 6h9M7 3l4 3-4 3", fill: "none", stroke: "currentColor", "stroke-width": 1.4 }
      : [{ cx: 7, cy: 6, r: 5 }, { x: 2.5, y: 1.5, width: 9, height: 9 }, { d: "M7 0l6 6-6 6-6-6z" }][shape(type)];
    for (const [name, value] of Object.entries(place)) form.setAttribute(name, value);
    if (!isEdge) form.setAttribute("fill", colour(type));
    mark.append(form);
    return mark;
  }

  function legend(types, hidden, isEdge) {
    types.forEach((type, index) => {
      const button = element("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(swatch(index, isEdge), element("span", type.name), element("small", type.count.toLocaleString("en")));
      button.addEventListener("click", () => {
        const isHidden = hidden.has(index);
        if (isHidden) hidden.delete(index); else hidden.add(index);
        button.setAttribute("aria-pressed", String(isHidden));
        draw();
      });
      byId("legend").append(button);
    });
  }
  legend(data.nodeTypes, hiddenNodes, false);
  legend(data.edgeTypes, hiddenEdges, true);

  function resize() {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    width = box.width; height = box.height;
    canvas.width = Math.max(1, Math.round(width * ratio)); canvas.height = Math.max(1, Math.round(height * ratio));
    // Until it is moved, the page keeps the whole graph in sight.
    if (isMoved) paint(); else { fit(); paint(); }
  }
  new ResizeObserver(resize).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
