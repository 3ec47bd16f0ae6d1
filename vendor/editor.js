export { EditorState, StateEffect, StateField } from "@codemirror/state";
export { Decoration, drawSelection, EditorView, keymap, lineNumbers, MatchDecorator, ViewPlugin } from "@codemirror/view";
export { history, historyKeymap, standardKeymap } from "@codemirror/commands";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
