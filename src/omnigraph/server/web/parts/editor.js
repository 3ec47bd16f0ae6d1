/** The editor of queries: CodeMirror with completions and diagnostics of our compiler. Loaded with its screen. */
import { html, useEffect, useRef } from "../vendor/core.js";

const CHECK_MS = 150;
const TOKENS =
  /((?:\/\/|#).*)|("(?:[^"\\]|\\.)*"?)|\b(query|match|return|order|limit|offset|insert|update|delete|set|where|and|or|not|optional|distinct|as|asc|desc|in|contains|true|false|null)\b|\b([A-Z]\w*)|(\b\d[\d_.]*)/g;
const CLASSES = ["comment", "string", "keyword", "type", "number"];

/** Colours of the query language, word by word: the grammar is the compiler's. @param {any} cm */
function colours(cm) {
  const marks = CLASSES.map((name) => cm.Decoration.mark({ class: `word-${name}` }));
  const matcher = new cm.MatchDecorator({ regexp: TOKENS, decoration: (/** @type {any} */ match) => marks[match.slice(1).findIndex((/** @type {any} */ group) => group !== undefined)] });
  return cm.ViewPlugin.define(
    (/** @type {any} */ view) => ({
      decorations: matcher.createDeco(view),
      update(/** @type {any} */ change) {
        this.decorations = matcher.updateDeco(change, this.decorations);
      },
    }),
    { decorations: (/** @type {any} */ plugin) => plugin.decorations },
  );
}

/** Characters are code points on the server and UTF-16 units here. */
const toUnits = (/** @type {string} */ text, /** @type {number} */ points) => [...text].slice(0, points).join("").length;
const toPoints = (/** @type {string} */ text, /** @type {number} */ units) => [...text.slice(0, units)].length;

/** Diagnostics of the compiler: asked for when typing pauses, marked in the text, and listed below it by the screen.
 * @param {any} cm @param {{current: any}} hooks */
function mistakes(cm, hooks) {
  const found = cm.StateEffect.define();
  const marks = cm.StateField.define({
    create: () => cm.Decoration.none,
    update: (/** @type {any} */ before, /** @type {any} */ change) => change.effects.find((/** @type {any} */ effect) => effect.is(found))?.value ?? before.map(change.changes),
    provide: (/** @type {any} */ field) => cm.EditorView.decorations.from(field),
  });
  const markOf = (/** @type {string} */ text, /** @type {any} */ item) => {
    const from = Math.max(0, Math.min(toUnits(text, item.range.start), text.length - 1));
    const to = Math.min(Math.max(from + 1, toUnits(text, item.range.end)), text.length);
    const title = [item.message, item.hint].filter(Boolean).join("\n");
    return cm.Decoration.mark({ class: `mistake ${item.severity}`, attributes: { title } }).range(from, to);
  };
  const watch = cm.ViewPlugin.define((/** @type {any} */ view) => {
    let timer = 0;
    const check = async () => {
      const text = view.state.doc.toString();
      const diagnostics = (await hooks.current.check(text))?.diagnostics ?? [];
      // The answer about an earlier text may come after that about this one, or after the editor is gone.
      if (timer < 0 || view.state.doc.toString() !== text) return;
      hooks.current.diagnostics(diagnostics);
      view.dispatch({ effects: found.of(cm.Decoration.set(text ? diagnostics.map((/** @type {any} */ item) => markOf(text, item)) : [], true)) });
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(check, CHECK_MS);
    };
    wait();
    return {
      update: (/** @type {any} */ change) => change.docChanged && wait(),
      destroy() {
        clearTimeout(timer);
        timer = -1;
      },
    };
  });
  return [marks, watch];
}

/**
 * @param {any} cm the module of the editor
 * @param {{current: any}} hooks
 */
function extensions(cm, hooks) {
  const complete = async (/** @type {any} */ context) => {
    const word = context.matchBefore(/[\w$.]*/);
    if (!context.explicit && (!word || word.from === word.to)) return null;
    const text = context.state.doc.toString();
    const found = (await hooks.current.check(text, toPoints(text, context.pos)))?.completion;
    if (!found?.candidates.length) return null;
    const options = found.candidates.map((/** @type {any} */ item) => ({ label: item.text, detail: item.detail, info: item.kind }));
    return { from: toUnits(text, found.start), options, validFor: /^[\w$]*$/ };
  };
  const run = { key: "Mod-Enter", run: () => (hooks.current.run(), true) };
  return [
    cm.lineNumbers(),
    cm.history(),
    cm.drawSelection(),
    colours(cm),
    cm.autocompletion({ override: [complete] }),
    mistakes(cm, hooks),
    cm.keymap.of([run, ...cm.completionKeymap, ...cm.standardKeymap, ...cm.historyKeymap]),
    cm.EditorView.lineWrapping,
    cm.EditorView.contentAttributes.of({ "aria-label": "Query" }),
    cm.EditorView.updateListener.of((/** @type {any} */ update) => update.docChanged && hooks.current.change(update.state.doc.toString())),
    cm.EditorView.theme({
      "&": { color: "var(--text)", fontSize: "13px", minHeight: "190px" },
      "&.cm-focused": { outline: "none" },
      ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
      ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
      ".cm-cursor": { borderLeftColor: "var(--text)" },
      ".cm-gutters": { background: "transparent", color: "var(--quiet)", border: "0", paddingLeft: "6px" },
      ".cm-selectionBackground": { background: "var(--accent-soft) !important" },
      ".cm-tooltip": { background: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)" },
      ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
      ".mistake": { textDecoration: "underline wavy var(--minus) 1.5px", textUnderlineOffset: "3px" },
      ".mistake.warning": { textDecorationColor: "var(--tilde)" },
      ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
      ".word-keyword": { color: "var(--accent)", fontWeight: "600" },
      ".word-string": { color: "var(--plus)" },
      ".word-number": { color: "var(--tilde)" },
      ".word-comment": { color: "var(--quiet)" },
      ".word-type": { color: "light-dark(#0b6a75, #5fd0dd)", fontWeight: "600" },
      ".cm-completionDetail": { color: "inherit", opacity: "0.75" },
    }),
  ];
}

/**
 * @param {{text: string, current: () => string | undefined, onChange: (text: string) => void, onRun: () => void,
 *   onDiagnostics: (found: any[]) => void, check: (text: string, position?: number) => Promise<any>, select: {current: any}}} props
 */
export function Editor({ text, current, onChange, onRun, onDiagnostics, check, select }) {
  const host = useRef(/** @type {any} */ (null));
  const view = useRef(/** @type {any} */ (null));
  const hooks = useRef(/** @type {any} */ ({}));
  hooks.current = { change: onChange, run: onRun, check, diagnostics: onDiagnostics };
  select.current = (/** @type {{start: number, end: number}} */ range) => {
    const shown = view.current?.state.doc.toString() ?? "";
    view.current?.dispatch({ selection: { anchor: toUnits(shown, range.start), head: toUnits(shown, range.end) }, scrollIntoView: true });
    view.current?.focus();
  };
  useEffect(() => {
    let isGone = false;
    import("../vendor/editor.js").then((cm) => {
      // The element may be gone before the clean-up of this effect has run.
      if (isGone || !host.current) return;
      // In a shadow tree the editor's styles are constructed sheets, which the content security policy allows.
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      const state = cm.EditorState.create({ doc: text, extensions: extensions(cm, hooks) });
      view.current = new cm.EditorView({ state, parent: root, root });
    });
    return () => {
      isGone = true;
      view.current?.destroy();
    };
  }, []);
  useEffect(() => {
    // A render may come after the next key: only the present text counts, or the two would replace each other forever.
    const [before, wanted] = [view.current?.state.doc.toString(), current() ?? text];
    if (view.current && before !== wanted) view.current.dispatch({ changes: { from: 0, to: before.length, insert: wanted } });
  }, [text]);
  return html`<div class="editor" ref=${host}></div>`;
}
