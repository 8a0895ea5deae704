import { ref, watch } from 'vue'
import { onOwner, owner } from '@/connection/owner'
import { language } from '@/i18n'
import type { Preferences, PreferencesChange } from '@/wire/messages.gen'
import { call } from '@/connection/rest'
import { errorMessage } from '@/connection/errorMessage'
import { setSingleKeys, singleKeys } from './single'
import { cleaned, remap, remapped } from './table'

// Shortcuts belong to the person's account; this browser stores a copy.

const PATH = '/api/preferences'

/** Why the last change is stored only in this browser; '' if the server has stored it. */
export const unsaved = ref('')

async function put(change: PreferencesChange) {
  try {
    await call<Preferences>('PATCH', PATH, change)
    unsaved.value = ''
  } catch (err) {
    unsaved.value = errorMessage(err)
  }
}

/**
 * Applies the shortcuts that the server has stored for the signed-in person, then sends it every change,
 * until the returned function is called. When another person signs in, their shortcuts replace the current
 * ones; that is not sent as a change.
 */
export function follow(): () => void {
  let ends: (() => void)[] = []
  let turn = 0

  function stop() {
    turn++
    for (const end of ends) end()
    ends = []
  }

  async function begin() {
    stop()
    const [now, whose] = [turn, owner()]
    if (whose === '') return
    const mine = await call<Preferences>('GET', PATH).catch(() => undefined)
    if (now !== turn || mine === undefined) return
    if (mine) {
      remap(cleaned(mine.keys))
      setSingleKeys(mine.single_keys)
      if (mine.language !== language.value) void put({ language: language.value })
    }
    // A watcher may run after the person has changed and before stop is called.
    const tell = (change: PreferencesChange) => void (whose === owner() && put(change))
    ends = [
      watch(remapped, (keys) => tell({ keys: { ...keys } }), { flush: 'sync' }),
      watch(singleKeys, (single_keys) => tell({ single_keys }), { flush: 'sync' }),
      watch(language, (to) => tell({ language: to })),
    ]
  }

  const forget = onOwner(() => void begin())
  void begin()
  return () => {
    forget()
    stop()
  }
}
