import { computed, shallowRef, watch, type ComputedRef } from 'vue'
import { projectOf } from '@/project/limits'
import { projects } from '@/project/rest'
import { useSessions } from '@/state/sessions'
import type { Project } from '@/wire/messages.gen'

/**
 * useFolderProject returns the project of a folder, with the person's rights in it. The server
 * decides; here people see it before they write a prompt.
 */
export function useFolderProject(folder: () => string): {
  /** Whether the projects are loaded. */
  loaded: ComputedRef<boolean>
  project: ComputedRef<Project | undefined>
} {
  const store = useSessions()
  const known = shallowRef<readonly Project[]>()
  let latest = 0
  watch(
    // A change of rights is visible in the sessions of the project.
    () => [store.connected, store.all.map((s) => s.rights?.join() ?? '').join(';')] as const,
    async ([connected]) => {
      if (!connected) return
      const mine = ++latest
      const list = await projects.list().then(
        (l) => l.projects,
        () => known.value ?? [],
      )
      if (mine === latest) known.value = list
    },
    { immediate: true },
  )
  return {
    loaded: computed(() => known.value !== undefined),
    project: computed(() => projectOf(known.value ?? [], folder().trim().replace(/\/+$/, ''))),
  }
}
