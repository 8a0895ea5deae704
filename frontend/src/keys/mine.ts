import { ref, watch } from 'vue'
import { onOwner, owner } from '@/connection/owner'
import { language } from '@/i18n'
import type { Preferences, PreferencesChange } from '@/wire/messages.gen'
import { call } from '@/connection/rest'
import { errorMessage } from '@/connection/errorMessage'
import { setSingleKeys, singleKeys } from './single'
import { cleaned, remap, remapped } from './table'

// What a person chose is kept with them; what this browser keeps is a copy.

const PATH = '/api/preferences'

/** Why the last change is kept here alone; '' when it is not. */
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
 * Takes over what the server has of whoever is signed in, then tells it of every change
 * of theirs; returns what ends that. With the person the keys change too, which is no
 * change of anybody's.
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
    // What follows the person may be told of the next one before this is.
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
