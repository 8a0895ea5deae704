import { computed, onBeforeUnmount, shallowRef, watch, type ComputedRef } from 'vue'
import { rest } from '@/connection/rest'
import { environment } from '@/environment/environment'
import { useSessions } from '@/state/sessions'
import { withoutWorktree } from '@/worktree/folder'

const MAX_RECENT = 8
const PAUSE_MS = 120

/**
 * useFolderSuggestions returns folders to suggest for the typed text: recent ones, and those on a machine.
 * runnerID is null while any machine will do, and '' for this server; name is null unless there are several.
 */
export function useFolderSuggestions(
  typed: () => string,
  machine: () => { runnerID: string | null; name: string | null } = () => ({ runnerID: '', name: null }),
): {
  recent: ComputedRef<string[]>
  folders: ComputedRef<string[]>
} {
  const store = useSessions()
  const recent = computed(() =>
    [
      ...new Set(
        store.all
          .filter((s) => !s.demo && s.cwd !== '' && (machine().name === null || s.node_id === machine().name))
          .toSorted((a, b) => b.updated_at - a.updated_at)
          .map((s) => withoutWorktree(s.cwd)),
      ),
    ].slice(0, MAX_RECENT),
  )

  const onServer = shallowRef<readonly string[]>([])
  let latest = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  async function load(prefix: string, runnerID: string | null) {
    const mine = ++latest
    // A folder that cannot be read has no suggestions; starting a session there shows the reason.
    const found =
      runnerID === null
        ? []
        : await rest.folders(prefix, runnerID).then(
            ({ folders }) => folders.map((f) => f.path),
            () => [],
          )
    if (mine === latest) onServer.value = found
  }
  watch(
    () => [typed(), machine().runnerID] as const,
    ([prefix, runnerID]) => {
      clearTimeout(timer)
      timer = setTimeout(() => void load(prefix.trim(), runnerID), PAUSE_MS)
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
      ...new Set([
        ...onServer.value,
        ...recent.value,
        ...(machine().runnerID === '' ? (environment.value?.workspace_roots ?? []) : []),
      ]),
    ]),
  }
}
