import { computed, ref } from 'vue'
import { may } from '@/project/rights'
import { batchProblem } from '@/pending/batch'
import type { Unit, Waiting } from '@/pending/groups'
import { useSessions } from '@/state/sessions'
import { announce } from '@/ui/announce'
import type { Queue } from './useQueue'
import { words } from './words'

export type Selection = ReturnType<typeof useSelection>

const each = ({ session, requests }: Unit): Waiting[] => requests.map((request) => ({ session, request }))

/** useSelection returns the units of a queue that are selected to be decided together. */
export function useSelection({ rows, isOpen, find, unitID }: Pick<Queue, 'rows' | 'isOpen' | 'find' | 'unitID'>) {
  const store = useSessions()
  const ids = ref<ReadonlySet<string>>(new Set())
  const selecting = ref(false)
  const role = () => store.state.user?.role
  const openUnit = (id: string) => (isOpen(id) ? find(id) : undefined)
  const mayAnswer = (u: Unit) => may(u.session, 'answer', role())

  const units = computed(() => [...ids.value].flatMap((id) => openUnit(id) ?? []).filter(mayAnswer))
  /** The selected requests, including those of groups. */
  const selected = computed(() => units.value.flatMap(each))
  // A single request is decided on its own card.
  const offered = computed(() => selecting.value || rows.value.filter((r) => !r.gone && mayAnswer(r)).length > 1)

  function replace(list: readonly string[]) {
    ids.value = new Set(list)
    if (list.length > 0) selecting.value = true
  }

  /** Selects or deselects a unit. It returns false if the person may not answer it. */
  function toggle(id: string): boolean {
    const u = openUnit(id)
    if (!u || !mayAnswer(u)) return false
    const others = units.value.map((s) => s.id).filter((other) => other !== u.id)
    replace(others.length === units.value.length ? [...others, u.id] : others)
    announce(words.selected(units.value.length))
    return true
  }

  /** Selects what can be approved together: the low-risk requests of the tool with the most of them. */
  function selectLow() {
    const low = rows.value.filter((r) => !r.gone && mayAnswer(r) && batchProblem(each(r), role()) === null)
    const counts = new Map<string, number>()
    for (const r of low) counts.set(r.request.tool_name, (counts.get(r.request.tool_name) ?? 0) + r.requests.length)
    const [tool] = [...counts].toSorted((a, b) => b[1] - a[1])[0] ?? []
    const list: Unit[] = []
    for (const r of low) {
      if (r.request.tool_name === tool && batchProblem([...list, r].flatMap(each), role()) === null) list.push(r)
    }
    replace(list.map((u) => u.id))
    announce(words.selected(list.length))
  }

  function stop() {
    ids.value = new Set()
    selecting.value = false
  }

  return {
    /** Whether rows have a check box. */
    selecting,
    units,
    selected,
    offered,
    has: (id: string) => ids.value.has(unitID(id)),
    toggle,
    selectLow,
    stop,
  }
}
