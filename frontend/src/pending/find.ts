import { openSearchPanel, search, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect } from '@codemirror/state'
import { keymap, type EditorView } from '@codemirror/view'
import { words } from './words'

const withSearch = new WeakSet<EditorView>()

/** find opens the search of an editor. */
export function find(view: EditorView): void {
  if (!withSearch.has(view)) {
    withSearch.add(view)
    view.dispatch({
      effects: StateEffect.appendConfig.of([
        search({ top: true }),
        keymap.of(searchKeymap.filter((k) => k.key !== 'Mod-f')),
        EditorState.phrases.of(words.editor.phrases),
      ]),
    })
  }
  openSearchPanel(view)
}
