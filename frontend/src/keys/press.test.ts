import { afterEach, describe, expect, it } from 'vitest'
import { pressOf, Reader, type Press } from './press'
import { capsOf, cleaned, conflictsOf, ids, remap, shortcutOf, single, table } from './table'
import { words } from './words'

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  code: '',
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  repeat: false,
  isComposing: false,
  getModifierState: () => false,
  ...more,
})
const reader = () => new Reader(ids)
const read = (r: Reader, key: string, more: { at?: number; singles?: boolean; writing?: boolean } = {}) =>
  r.read(key, more.at ?? 0, more.singles ?? true, more.writing ?? false)

describe('a key press', () => {
  it('is named by its character and its modifiers', () => {
    expect(pressOf(press('y'))).toBe('y')
    expect(pressOf(press('Y', { shiftKey: true }))).toBe('Y')
    expect(pressOf(press('K', { ctrlKey: true, shiftKey: true }))).toBe('Mod+Shift+k')
    expect(pressOf(press('≥', { altKey: true, code: 'Period' }))).toBe('Alt+.')
    expect(pressOf(press('>', { altKey: true, shiftKey: true, code: 'Period' }))).toBe('Alt+Shift+.')
  })
  it('is ignored when it repeats, composes or types another character', () => {
    expect(pressOf(press('y', { repeat: true }))).toBe('')
    expect(pressOf(press('y', { isComposing: true }))).toBe('')
    expect(pressOf(press('Process'))).toBe('')
    expect(pressOf(press('Dead'))).toBe('')
    expect(pressOf(press('y', { getModifierState: (name) => name === 'AltGraph' }))).toBe('')
    expect(pressOf(press('k', { metaKey: true }))).toBe('')
  })
})

describe('the key reader', () => {
  it('accepts two presses in sequence as one shortcut', () => {
    const r = reader()
    expect(read(r, 'g')).toBe('begun')
    expect(read(r, 'i', { at: 500 })).toBe('inbox')
    expect(read(r, 'i', { at: 600 })).toBe(null)
    read(r, 'g', { at: 1000 })
    expect(read(r, 'i', { at: 5000 })).toBe(null)
  })
  it('ignores a second press that completes no shortcut', () => {
    const r = reader()
    read(r, 'g')
    expect(read(r, 'c')).toBe(null)
    expect(read(r, 'c')).toBe('create')
  })
  it('takes from a text field only the shortcuts meant for it', () => {
    for (const id of ids) {
      const presses = table[id].keys.split(' ')
      const r = reader()
      const last = presses.map((p) => read(r, p, { writing: true })).at(-1)
      expect([id, last === id]).toEqual([id, table[id].writing === true])
    }
  })
  it('ignores single-key shortcuts when they are off', () => {
    for (const id of ids.filter(single)) {
      const r = reader()
      expect(table[id].keys.split(' ').map((p) => read(r, p, { singles: false }))).not.toContain(id)
    }
    expect(read(reader(), 'Mod+k', { singles: false })).toBe('palette')
  })
})

describe('the shortcut table', () => {
  it('has no key twice in a scope or under a global one', () => {
    for (const scope of ['session', 'card', 'inbox'] as const) {
      const keys = ids
        .filter((id) => table[id].scope === scope || table[id].scope === 'everywhere')
        .map((id) => table[id].keys)
      expect(keys).toEqual([...new Set(keys)])
    }
  })
  it('names and displays every shortcut', () => {
    for (const id of ids) {
      expect(words.key[id]).not.toBe('')
      expect(capsOf(id).flat()).not.toContain('')
    }
    expect(capsOf('approveSelected')).toEqual([['Shift', 'Y']])
    expect(shortcutOf('palette')).toBe('Control+k')
    expect(shortcutOf('inbox')).toBe('')
  })
})

describe('custom shortcuts', () => {
  afterEach(() => remap({}))
  it('are read, displayed and announced instead of the defaults', () => {
    remap({ approve: 'Alt+y', inbox: 'i' })
    expect([read(reader(), 'y'), read(reader(), 'Alt+y'), read(reader(), 'i')]).toEqual([null, 'approve', 'inbox'])
    expect([capsOf('approve'), shortcutOf('approve'), shortcutOf('inbox')]).toEqual([[['Alt', 'y']], 'Alt+y', 'i'])
    expect(read(reader(), 'Alt+y', { singles: false })).toBe('approve')
  })
  it('are checked for conflicts', () => {
    expect(ids.filter((id) => conflictsOf(id).length > 0)).toEqual([])
    remap({ edit: 'n', create: 'g' })
    expect(conflictsOf('edit')).toEqual(['deny'])
    expect(conflictsOf('create')).toEqual(['inbox', 'sessions', 'admin'])
    remap({ edit: '4', snooze: 'm' })
    expect([conflictsOf('edit'), conflictsOf('snooze')]).toEqual([['option'], []])
  })
  it('are restored from storage as far as they are valid', () => {
    expect(cleaned({ approve: 'j', leave: 'x', nothing: 'z', deny: 7 })).toEqual({ approve: 'j' })
    expect(cleaned('x')).toEqual({})
  })
})
