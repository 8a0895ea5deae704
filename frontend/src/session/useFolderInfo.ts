import { onBeforeUnmount, shallowRef, watch, type Ref } from 'vue'
import type { FolderInfo } from '@/wire/messages.gen'
import { rest } from '@/worktree/rest'

const PAUSE_MS = 200

/**
 * useFolderInfo returns what a machine, '' for this server, knows about the typed folder; null until it knows
 * something, and while no machine is chosen.
 */
export function useFolderInfo(folder: () => string, machine: () => string | null): Readonly<Ref<FolderInfo | null>> {
  const info = shallowRef<FolderInfo | null>(null)
  let latest = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  async function load(cwd: string, on: string | null) {
    const mine = ++latest
    // If the folder cannot be read, starting the session shows the error.
    const found = cwd === '' || on === null ? null : await rest.info(cwd, on).catch(() => null)
    if (mine === latest) info.value = found
  }
  watch(
    () => [folder().trim(), machine()] as const,
    ([cwd, on], before) => {
      info.value = null
      latest++
      clearTimeout(timer)
      // The first value loads at once; typed changes wait for a pause.
      timer = setTimeout(() => void load(cwd, on), before?.[0] === undefined ? 0 : PAUSE_MS)
    },
    { immediate: true },
  )
  onBeforeUnmount(() => {
    clearTimeout(timer)
    latest++
  })
  return info
}
