// The editor is used through its own documentation; its types would weigh more than the editor.
export const EditorState: any, StateEffect: any, StateField: any, EditorView: any, Decoration: any, MatchDecorator: any, ViewPlugin: any, keymap: any;
export const drawSelection: any, lineNumbers: any, history: any, historyKeymap: any, standardKeymap: any;
export const autocompletion: any, completionKeymap: any;
