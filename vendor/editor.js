export { EditorState, Compartment } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, drawSelection, placeholder } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, syntaxHighlighting, HighlightStyle, bracketMatching } from "@codemirror/language";
export { autocompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
export { linter, setDiagnostics } from "@codemirror/lint";
export { tags } from "@lezer/highlight";
