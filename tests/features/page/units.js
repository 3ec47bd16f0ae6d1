/** Tests of modules of the page, run in the browser: each returns what it found and what was expected. */
({
  /** Lines and stamps are clipped and blended. */
  async raster({ Raster, colourOf, filled }) {
    const raster = new Raster(20, 10);
    raster.clear(0xffffff);
    raster.line(-50, 5, 50, 5, 0x0000ff, 256);
    raster.line(3, -50, 4, 50, 0x00ff00, 256);
    raster.stamp(filled("circle", 6), 0, 0, 0xff0000, 256);
    raster.stamp(filled("square", 40), 200, 200, 0xff0000, 256);
    const at = (x, y) => (raster.pixels[y * 20 + x] & 0xffffff).toString(16);
    return [
      [at(10, 5), at(10, 8), at(0, 0), raster.pixels.length],
      ["ff", "ffffff", "ff0000", 200],
      [colourOf("#010203"), colourOf("rgb(1, 2, 3)")],
      [0x030201, 0x030201],
    ];
  },

  /** A dashed line leaves gaps, a dashed ring too. */
  async dashes({ Raster, ring }) {
    const raster = new Raster(40, 8);
    raster.clear(0);
    raster.line(0, 4, 39, 4, 0xffffff, 256, 5);
    const drawn = [...raster.pixels].filter((pixel) => (pixel & 0xffffff) !== 0).length;
    const [whole, dashed] = [ring("circle", 10, 2), ring("circle", 10, 2, true)].map(({ cover }) => cover.reduce((sum, share) => sum + share, 0));
    return [[drawn >= 15 && drawn <= 25, dashed < whole * 0.7 && dashed > whole * 0.3], [true, true]];
  },

  /** Parallel edges bend apart; unknown ends and repeated keys are left out. */
  async model({ Model }) {
    const node = (key) => ({ key, type: "T", label: key });
    const edge = (source, target, key) => ({ source, target, type: "E", key });
    const edges = [edge("a", "b", "1"), edge("b", "a", "2"), edge("a", "x", "3"), edge("a", "a", "4")];
    const model = new Model([node("a"), node("b"), node("a")], edges);
    model.add([node("c")], [edge("c", "a", "5"), edge("c", "a", "5")]);
    const [one, two] = model.edges;
    // A bend is relative to the direction of its edge, so equal bends of opposite edges lie apart.
    return [
      [model.nodes.size, model.edges.length, one.bend !== 0, one.bend === two.bend],
      [3, 4, true, true],
      [model.matching("A").map((found) => found.key), model.neighbours(model.nodes.get("a")).size],
      [["a"], 3],
    ];
  },

  /** Hidden types are neither shown nor found. */
  async hidden({ Model }) {
    const nodes = ["a", "b"].map((key) => ({ key, type: key.toUpperCase(), label: key }));
    const model = new Model(nodes, [{ source: "a", target: "b", type: "E" }]);
    model.hidden.add("B");
    return [[model.shownNodes().length, model.edges.filter(model.isDrawn).length, model.matching("b").length], [1, 0, 0]];
  },

  /** A camera keeps the point under the pointer, and fits everything. */
  async camera({ Camera }) {
    const camera = Object.assign(new Camera(), { width: 600, height: 400, above: 30, below: 60 });
    camera.fit([{ x: -5, y: -5 }, { x: 5, y: 5 }]);
    const inside = [[-5, -5], [5, 5]].every(([x, y]) => {
      const [left, top] = camera.toScreen({ x, y });
      return left >= 0 && left <= 600 && top >= 30 && top <= 340;
    });
    const before = camera.toWorld(100, 50);
    camera.zoom(2, 100, 50);
    const after = camera.toWorld(100, 50);
    return [[inside, Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9], [true, true]];
  },

  /** A layout is the same each time, has edges of about one unit, and keeps what is fixed. */
  async layout({ Model, settle }) {
    const make = () => {
      const nodes = Array.from({ length: 400 }, (_, i) => ({ key: String(i), type: "T", label: "" }));
      return new Model(nodes, nodes.slice(1).map((node, i) => ({ source: String(Math.floor(i / 3)), target: node.key, type: "E" })));
    };
    const [a, b] = [make(), make()];
    for (const model of [a, b]) settle([...model.nodes.values()], model.edges);
    const places = (model) => [...model.nodes.values()].flatMap((node) => [node.x, node.y]);
    const isSame = JSON.stringify(places(a)) === JSON.stringify(places(b));
    const lengths = a.edges.map(({ source, target }) => Math.hypot(source.x - target.x, source.y - target.y)).sort((x, y) => x - y);
    const fixed = a.nodes.get("0").x;
    settle([...a.nodes.values()], a.edges, (node) => node.key === "7");
    return [
      [isSame, places(a).every(Number.isFinite), lengths[200] > 0.5 && lengths[200] < 2, a.nodes.get("0").x === fixed],
      [true, true, true, true],
    ];
  },

  /** The node under a point, and the next one in a direction, are found. */
  async picking({ Model, Camera, nodeAt, edgeAt, nextNode }) {
    const places = [["a", 0, 0], ["b", 2, 0], ["c", 0, 2]];
    const model = new Model(places.map(([key, x, y]) => ({ key, type: "T", label: key, x, y })), [{ source: "a", target: "b", type: "E", key: "e" }]);
    const camera = Object.assign(new Camera(), { width: 400, height: 400 });
    const [x, y] = camera.toScreen({ x: 2, y: 0 });
    const middle = camera.toScreen({ x: 1, y: 0 });
    const from = model.nodes.get("a");
    return [
      [nodeAt(model, camera, x + 3, y)?.key, nodeAt(model, camera, 5, 5), edgeAt(model, camera, ...middle)?.key],
      ["b", null, "e"],
      [nextNode(model, from, [1, 0])?.key, nextNode(model, from, [0, 1])?.key, nextNode(model, from, [-1, 0])],
      ["b", "c", null],
    ];
  },

  /** Addresses are read and written, also when they were cut. */
  async state({ parseRoute, address, parsed }) {
    const hash = address({ graph: "a/b", screen: "browse", params: { id: "x y&z", ref: "", at: undefined } });
    return [
      [hash, parseRoute(hash)],
      ["#/a%2Fb/browse?id=x+y%26z", { graph: "a/b", screen: "browse", params: { id: "x y&z" } }],
      [parseRoute("#/%E4%BD/").graph, parsed("[1", "none"), parsed("[1]", "none")],
      ["%E4%BD", "none", [1]],
    ];
  },

  /** Values are shown short, and exact. */
  async values({ text, count, counted, typedValue }) {
    const vector = Array.from({ length: 768 }, (_, i) => i / 3);
    return [
      [text(null), text(vector), text({ a: 1 }), count("9007199254740993"), counted(1, "row"), counted(1200, "row")],
      ["null", "[0, 0.3333, 0.6667, 1, … 768]", '{"a":1}', "9,007,199,254,740,993", "1 row", "1,200 rows"],
      [typedValue({ scalar: "I64" }, "9007199254740993"), typedValue({ scalar: "I32" }, "7"), typedValue({ scalar: "String", nullable: true }, "")],
      ["9007199254740993", 7, null],
      [typedValue({ scalar: "I32" }, "many"), typedValue({ scalar: "F64" }, "1e3"), typedValue({ scalar: "I32", nullable: true }, " ")],
      ["many", 1000, " "],
      [typedValue({ scalar: "String", is_list: true }, '["a"]'), typedValue({ scalar: "Bool" }, "true"), typedValue({ scalar: "String" }, "")],
      [["a"], true, ""],
    ];
  },

  /** A cell that a spreadsheet would run is marked as text, and a snippet of Python quotes what it is given. */
  async exports({ csvOf, pythonOf }) {
    const rows = [{ a: "=1+1", b: 'say "hi"' }, { a: -5, b: null }];
    const snippet = pythonOf('query q() { return { "x" } }', { n: null, s: 'a"b', l: [true] }, "C");
    return [
      [csvOf({ columns: ["a", "b"], rows })],
      [`a,b\r\n'=1+1,"say ""hi"""\r\n-5,`],
      [snippet.includes('{"n": None, "s": "a\\"b", "l": [True]}'), snippet.includes('at="C"')],
      [true, true],
    ];
  },

  /** Choices are kept only for the values that they were made for. */
  async conflicts({ choose, fitting, resolutionsOf }) {
    const conflict = { type_name: "P", entity_id: "a", property: "age", base: 1, source: 2, target: 3 };
    const gone = { ...conflict, entity_id: "b" };
    const moved = { ...conflict, property: "size" };
    const choices = [choose(conflict, "value", 9), choose(gone, "source"), choose({ ...moved, source: 5 }, "target")];
    const { kept, dropped } = fitting([conflict, moved], choices);
    const broken = { type_name: "E", entity_id: "e", property: "dst", kind: "orphan_edge" };
    return [
      [Object.keys(kept), dropped, resolutionsOf(kept)],
      [["P/a/age"], 2, [{ type: "P", id: "a", property: "age", value: 9 }]],
      [resolutionsOf(fitting([broken], [choose(broken, "delete")]).kept)],
      [[{ type: "E", id: "e", property: "dst", kind: "orphan_edge", take: "delete" }]],
    ];
  },

  /** Changes of a schema are named, counts are none of them. */
  async schemas({ schemaChanges, schemaText }) {
    const type = (name, properties, rest = {}) => ({ kind: "node", name, count: 1, unique: [], properties: Object.entries(properties).map(([name, type]) => ({ name, type })), ...rest });
    const before = { nodes: [type("A", { x: "I32", y: "String" }), type("B", {})], edges: [] };
    const after = { nodes: [type("A", { x: "I64", z: "Bool?" }, { unique: [["z"]] }), type("C", { q: "Date" }, { count: 9 })], edges: [] };
    return [
      [schemaText(schemaChanges(before, after)), schemaChanges(before, { ...before, nodes: before.nodes.map((item) => ({ ...item, count: 7 })) })],
      ["~ A.x (I32 → I64), − A.y, + A.z (Bool?), ~ A (constraints, indexes or annotations), − node B, + node C", []],
    ];
  },

  /** Lanes of branches have main first. */
  async lanes({ lanesOf }) {
    return [[[...lanesOf([{ graph_branch: "x" }, { graph_branch: null }, { graph_branch: "y" }])]], [[["main", 0], ["x", 1], ["y", 2]]]];
  },

  /** Boxes of a schema keep apart and inside their width, and the names of loops have room above them. */
  async schema({ placed, lines }) {
    const names = Array.from({ length: 14 }, (_, i) => `Type${i}`);
    const catalog = { nodes: names.map((name) => ({ name })), edges: names.map((name, i) => ({ name: `E${i}`, ends: [{ source: name, target: names[(i * 5) % 14] }] })) };
    const results = [360, 900].map((width) => {
      const { boxes } = placed(catalog, width);
      const all = [...boxes.values()];
      const inside = all.every((box) => box.x - box.wide / 2 >= 0 && box.x + box.wide / 2 <= width);
      return inside && lines(catalog, boxes).every((line) => !line.path.includes("NaN"));
    });
    const loops = { nodes: [{ name: "A" }], edges: ["x", "y", "z"].map((name) => ({ name, ends: [{ source: "A", target: "A" }] })) };
    const ends = lines(loops, placed(loops, 360).boxes).map((line) => line.y);
    return [
      [...results, Math.min(...ends) >= 12],
      [true, true, true],
    ];
  },
});
