import { standardKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView, highlightSpecialChars, keymap, lineNumbers, type KeyBinding } from '@codemirror/view'
import { codeOf, HIDDEN, nameOf } from '@/text/hidden'
import { words } from './words'

/** Editor controls an open editor. */
export interface Editor {
  /** The text with its original line endings. */
  text(): string
  /** Replaces the text, for example with a draft from another device. */
  replace(text: string): void
  lock(locked: boolean): void
  focus(): void
  destroy(): void
}

/**
 * Returns the line ending of a text: CR LF if all lines end so. In a text with mixed endings, every
 * CR stays as a visible character, because repairing it is not our task.
 */
export function lineEndOf(text: string): '\r\n' | '\n' {
  return /\r\n/.test(text) && !/(?<!\r)\n|\r(?!\n)/.test(text) ? '\r\n' : '\n'
}

const hiddenCharacters = new RegExp(String.raw`(?![\t\n])` + HIDDEN.source, 'gu')

function renderHidden(point: number): HTMLElement {
  const el = document.createElement('span')
  el.className = 'hidden'
  el.textContent = nameOf(point)
  el.title = codeOf(point)
  el.setAttribute('aria-label', words.editor.hidden(nameOf(point)))
  return el
}

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', fontVariantLigatures: 'none' },
  '.cm-content': { padding: '6px 0', caretColor: 'var(--ink)' },
  '.cm-gutters': {
    color: 'var(--ink-3)',
    backgroundColor: 'var(--side)',
    border: '0',
    borderRight: '1px solid var(--line)',
  },
  '.cm-line::selection, .cm-line ::selection': {
    backgroundColor: 'color-mix(in oklch, var(--you), transparent 70%)',
  },
  '.cm-searchMatch': { backgroundColor: 'color-mix(in oklch, var(--wait-solid), transparent 65%)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in oklch, var(--wait-solid), transparent 30%)' },
  '.cm-panels': { color: 'var(--ink)', backgroundColor: 'var(--side)', border: '0' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '6px 34px 6px 8px', fontFamily: 'system-ui, sans-serif' },
  '.cm-panel.cm-search label': { fontSize: '12px' },
  '.cm-textfield': {
    padding: '3px 6px',
    fontSize: '13px',
    color: 'var(--ink)',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line-2)',
    borderRadius: '6px',
  },
  '.cm-button': {
    minHeight: '26px',
    padding: '2px 8px',
    fontSize: '12px',
    color: 'var(--ink)',
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line-2)',
    borderRadius: '6px',
    cursor: 'pointer',
  },
  '.cm-panel.cm-search [name=close]': {
    minWidth: '26px',
    minHeight: '26px',
    color: 'var(--ink-2)',
    cursor: 'pointer',
  },
  '.hidden': {
    padding: '0 4px',
    margin: '0 1px',
    borderRadius: '4px',
    backgroundColor: 'var(--danger-solid)',
    color: 'oklch(1 0 0)',
    fontSize: '10px',
    fontWeight: '600',
    unicodeBidi: 'isolate',
  },
})

// The browser's search finds only lines that are drawn, so the editor has its own, which is loaded
// when it is opened.
const find: KeyBinding = {
  key: 'Mod-f',
  run(view) {
    import('./find').then(
      (m) => m.find(view),
      () => null,
    )
    return true
  },
}

/**
 * openEditor opens an editor in a shadow root, where its styles are constructed sheets: those are
 * allowed by a policy without inline styles.
 */
export function openEditor(root: ShadowRoot, text: string, label: string, changed: () => void): Editor {
  const lineEnd = lineEndOf(text)
  const locks = new Compartment()
  const locked = (yes: boolean) => [EditorState.readOnly.of(yes)]
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        theme,
        locks.of(locked(false)),
        EditorState.lineSeparator.of(lineEnd),
        EditorState.tabSize.of(4),
        lineNumbers(),
        highlightSpecialChars({ specialChars: hiddenCharacters, render: renderHidden }),
        history(),
        EditorView.lineWrapping,
        keymap.of([find, ...historyKeymap, indentWithTab, ...standardKeymap]),
        EditorView.contentAttributes.of({
          'aria-label': label,
          'aria-description': words.editor.hint,
          spellcheck: 'false',
          autocapitalize: 'off',
          autocorrect: 'off',
          translate: 'no',
        }),
        EditorView.updateListener.of((u) => u.docChanged && changed()),
      ],
    }),
  })
  return {
    text: () => view.state.sliceDoc(),
    replace(now) {
      const { state } = view
      view.dispatch({
        changes: { from: 0, to: state.doc.length, insert: state.toText(now) },
        selection: { anchor: Math.min(state.selection.main.anchor, state.toText(now).length) },
      })
    },
    lock: (yes) => view.dispatch({ effects: locks.reconfigure(locked(yes)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}
