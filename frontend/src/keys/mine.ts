import { ref, watch } from 'vue'
import { language } from '@/i18n'
import type { Preferences, PreferencesChange } from '@/wsapi/messages.gen'
import { call } from '@/wsapi/rest'
import { sentence } from '@/wsapi/sentence'
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
    unsaved.value = sentence(err)
  }
}

/** Takes over what the server has, then tells it of every change; returns what ends that. */
export async function follow(): Promise<() => void> {
  const mine = await call<Preferences>('GET', PATH)
  if (mine) {
    remap(cleaned(mine.keys))
    setSingleKeys(mine.single_keys)
    if (mine.language !== language.value) void put({ language: language.value })
  }
  const ends = [
    watch(remapped, (keys) => void put({ keys: { ...keys } }), { flush: 'sync' }),
    watch(singleKeys, (single_keys) => void put({ single_keys }), { flush: 'sync' }),
    watch(language, (to) => void put({ language: to })),
  ]
  return () => ends.forEach((end) => end())
}
