import { computed, type ComputedRef, type InjectionKey, type Ref } from 'vue'
import { useAction } from '@/connection/useAction'
import { useLoaded } from '@/connection/useLoaded'
import { projects } from '@/project/rest'
import { words } from '@/project/words'
import type { ProjectChange } from '@/wire/messages.gen'

/** The state that the sections of a project's page share. */
export interface ProjectEditing {
  /** Whether this person may change members, rules, rights and the deadline. */
  manages: ComputedRef<boolean>
  busy: Ref<boolean>
  /** Changes the displayed version and reloads the project. Reports whether the change was saved. */
  change(what: Omit<ProjectChange, 'version'>): Promise<boolean>
}

export const projectEditing: InjectionKey<ProjectEditing> = Symbol('project')

/** useProject loads one project and saves changes of it. */
export function useProject(id: () => string) {
  const { value: project, problem, loading, reload } = useLoaded(() => projects.one(id()))
  const { busy, error, done, run } = useAction(undefined, reload)
  const manages = computed(() => project.value?.rights.includes('manage') === true)

  async function change(what: Omit<ProjectChange, 'version'>): Promise<boolean> {
    const shown = project.value
    if (!shown) return false
    return run(async () => {
      await projects.change(id(), { version: shown.version, ...what })
      return words.saved
    })
  }
  return { project, problem, loading, reload, busy, error, done, manages, change }
}
