import { onBeforeUnmount, shallowRef, watch, type Ref } from 'vue'
import type { FolderInfo } from '@/wire/messages.gen'
import { rest } from '@/worktree/rest'

const PAUSE_MS = 200

/** useFolderInfo returns what the server knows of the typed folder; null while it knows nothing. */
export function useFolderInfo(folder: () => string): Readonly<Ref<FolderInfo | null>> {
  const info = shallowRef<FolderInfo | null>(null)
  let latest = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  async function load(cwd: string) {
    const mine = ++latest
    // A folder that cannot be read says so when the session starts.
    const found = cwd === '' ? null : await rest.info(cwd).catch(() => null)
    if (mine === latest) info.value = found
  }
  watch(
    () => folder().trim(),
    (cwd, before) => {
      info.value = null
      latest++
      clearTimeout(timer)
      // Only what is typed changes again at once.
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
