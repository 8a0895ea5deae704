import { computed, onBeforeUnmount, shallowRef, watch, type ComputedRef } from 'vue'
import { rest } from '@/connection/rest'
import { environment } from '@/environment/environment'
import { useSessions } from '@/state/sessions'
import { withoutWorktree } from '@/worktree/folder'

const MAX_RECENT = 8
const PAUSE_MS = 120

/**
 * useFolderSuggestions returns folders to suggest for the typed text: recent ones, and those on the
 * server.
 */
export function useFolderSuggestions(typed: () => string): {
  recent: ComputedRef<string[]>
  folders: ComputedRef<string[]>
} {
  const store = useSessions()
  const recent = computed(() =>
    [
      ...new Set(
        store.all
          .filter((s) => !s.demo && s.cwd !== '')
          .toSorted((a, b) => b.updated_at - a.updated_at)
          .map((s) => withoutWorktree(s.cwd)),
      ),
    ].slice(0, MAX_RECENT),
  )

  const onServer = shallowRef<readonly string[]>([])
  let latest = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  async function load(prefix: string) {
    const mine = ++latest
    // A folder that cannot be read has no suggestions; starting a session there shows the reason.
    const found = await rest.folders(prefix).then(
      ({ folders }) => folders.map((f) => f.path),
      () => [],
    )
    if (mine === latest) onServer.value = found
  }
  watch(
    typed,
    (prefix) => {
      clearTimeout(timer)
      timer = setTimeout(() => void load(prefix.trim()), PAUSE_MS)
    },
    { immediate: true },
  )
  onBeforeUnmount(() => {
    clearTimeout(timer)
    latest++
  })

  return {
    recent,
    folders: computed(() => [
      ...new Set([...onServer.value, ...recent.value, ...(environment.value?.workspace_roots ?? [])]),
    ]),
  }
}
