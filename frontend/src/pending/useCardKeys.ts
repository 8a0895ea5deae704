import type { Ref } from 'vue'
import { pressOf, Reader } from '@/keys/press'
import { singleKeys } from '@/keys/single'
import { ids, table, type KeyID } from '@/keys/table'
import { obstacle, type Act, type Facts } from './decide'

/** Selects text fields, in which single keys type. */
export const TEXT_FIELDS = 'textarea, select, [data-writes], input:not([type=radio]):not([type=checkbox])'

/** MayDecide returns whether the pressed key may decide. */
export type MayDecide = (act: Act, more?: Partial<Facts>) => boolean

/**
 * useCardKeys handles keys pressed in a card. onKey receives each shortcut, and a function that
 * returns whether it may decide. If the card is out of view, that function scrolls it into view
 * instead.
 */
export function useCardKeys(
  card: Readonly<Ref<HTMLElement | null>>,
  facts: () => Facts,
  onKey: (id: KeyID, ev: KeyboardEvent, may: MayDecide) => void,
): { keydown: (ev: KeyboardEvent) => void; mayByKey: MayDecide } {
  const reader = new Reader([...ids.filter((id) => table[id].scope === 'card'), 'leave'])

  function mayByKey(act: Act, more: Partial<Facts> = {}, repeat = false): boolean {
    return obstacle(act, { ...facts(), ...more }, { by: 'key', repeat, inside: true }) === null
  }

  /** Reports whether the card is in view, and scrolls it into view if not. */
  function isInView(): boolean {
    const rect = card.value?.getBoundingClientRect()
    if (!rect) return false
    const x = rect.left + rect.width / 2
    const hit = document.elementFromPoint?.(x, rect.top + 12)
    if (!hit || card.value!.contains(hit)) return true
    card.value!.scrollIntoView({ block: 'nearest' })
    return false
  }

  function keydown(ev: KeyboardEvent) {
    if (ev.defaultPrevented) return
    // On a Mac, both Ctrl+Enter and Cmd+Enter send.
    const press =
      ev.key === 'Enter' && (ev.ctrlKey || ev.metaKey) && !ev.repeat && !ev.isComposing ? 'Mod+Enter' : pressOf(ev)
    const writing = (ev.target as Element).matches(TEXT_FIELDS)
    // The shortcut table has one row, 1, for all options.
    const id =
      reader.read(press, ev.timeStamp, singleKeys.value, writing) ??
      (/^[2-9]$/.test(press) ? reader.read('1', ev.timeStamp, singleKeys.value, writing) : null)
    if (id === null || id === 'begun') return
    onKey(id, ev, (act, more) => mayByKey(act, more, ev.repeat) && (writing || isInView()))
  }

  return { keydown, mayByKey: (act, more) => mayByKey(act, more) }
}
