import { onBeforeUnmount, shallowRef, watch, type Ref } from 'vue'
import type { FolderInfo } from '@/wire/messages.gen'
import { rest } from '@/worktree/rest'

const PAUSE_MS = 200

/** useFolderInfo returns what the server knows about the typed folder; null until it knows something. */
export function useFolderInfo(folder: () => string): Readonly<Ref<FolderInfo | null>> {
  const info = shallowRef<FolderInfo | null>(null)
  let latest = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  async function load(cwd: string) {
    const mine = ++latest
    // If the folder cannot be read, starting the session shows the error.
    const found = cwd === '' ? null : await rest.info(cwd).catch(() => null)
    if (mine === latest) info.value = found
  }
  watch(
    () => folder().trim(),
    (cwd, before) => {
      info.value = null
      latest++
      clearTimeout(timer)
      // The first value loads at once; typed changes wait for a pause.
      timer = setTimeout(() => void load(cwd), before === undefined ? 0 : PAUSE_MS)
    },
    { immediate: true },
  )
  onBeforeUnmount(() => {
    clearTimeout(timer)
    latest++
  })
  return info
}
