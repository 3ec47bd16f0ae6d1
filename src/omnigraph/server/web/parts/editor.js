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
  const diagnose = async (/** @type {any} */ view) => {
    const text = view.state.doc.toString();
    const found = await hooks.current.check(text);
    // The answer about an earlier text may come after that about this one.
    if (view.state.doc.toString() !== text) return [];
    hooks.current.diagnostics(found?.diagnostics ?? []);
    return (found?.diagnostics ?? []).map((/** @type {any} */ item) => {
      const from = Math.min(toUnits(text, item.range.start), text.length);
      const to = Math.min(Math.max(from + 1, toUnits(text, item.range.end)), text.length);
      return { from, to, severity: item.severity === "warning" ? "warning" : "error", message: [item.message, item.hint].filter(Boolean).join("\n") };
    });
  };
  const run = { key: "Mod-Enter", run: () => (hooks.current.run(), true) };
  return [
    cm.lineNumbers(),
    cm.history(),
    cm.drawSelection(),
    colours(cm),
    cm.autocompletion({ override: [complete] }),
    cm.linter(diagnose, { delay: CHECK_MS }),
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
      ".cm-diagnostic": { padding: "6px 10px", borderLeft: "3px solid var(--minus)", whiteSpace: "pre-wrap" },
      ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--minus) 1.5px", textUnderlineOffset: "3px" },
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
