import { computed, ref, shallowRef } from 'vue'
import { may } from '@/project/rights'
import { useSessions } from '@/state/sessions'
import { announce } from '@/ui/announce'
import { batchable, mayJoin, MAX_BATCH, type Waiting } from './queue'
import type { Queue } from './useQueue'
import { words } from './words'

export type Selection = ReturnType<typeof useSelection>

/** useSelection returns the requests of a queue that are selected for bulk approval. */
export function useSelection({ rows, isOpen, find }: Pick<Queue, 'rows' | 'isOpen' | 'find'>) {
  const store = useSessions()
  const ids = ref<ReadonlySet<string>>(new Set())
  const role = () => store.state.user?.role
  const joins = (w: Waiting) => batchable(w, role())
  const openOne = (id: string) => (isOpen(id) ? find(id) : undefined)
  const replace = (list: readonly Waiting[]) => (ids.value = new Set(list.map((w) => w.request.request_id)))

  // A request that the person may no longer approve is no longer selected.
  const selected = computed(() => [...ids.value].flatMap((id) => openOne(id) ?? []).filter(joins))
  // Bulk approval is offered for two or more: a single request is approved in its detail view.
  const offered = computed(() => selected.value.length > 0 || rows.value.filter((r) => !r.gone && joins(r)).length > 1)

  /** Selects or deselects a request. It returns false if this person may not answer it. */
  function toggle(id: string): boolean {
    const w = openOne(id)
    if (!w || !may(w.session, 'answer', role())) return false
    const others = selected.value.filter((s) => s.request.request_id !== id)
    const adding = others.length === selected.value.length
    if (adding && !mayJoin(w, others, role())) {
      announce(words.selectionHint)
      return true
    }
    const list = adding ? [...others, w] : others
    replace(list)
    announce(words.selected(list.length))
    return true
  }

  function selectAll() {
    const list = [...selected.value]
    const has = (id: string) => list.some((s) => s.request.request_id === id)
    for (const r of rows.value) if (!r.gone && !has(r.id) && mayJoin(r, list, role())) list.push(r)
    replace(list)
  }

  /** The requests in the open confirmation; undefined if none is open. */
  const batch = shallowRef<Waiting[]>()
  function approve(): boolean {
    if (selected.value.length === 0) return false
    batch.value = selected.value.slice(0, MAX_BATCH)
    return true
  }
  function finish() {
    batch.value = undefined
    clear()
  }
  const clear = () => replace([])

  return {
    selected,
    offered,
    joins,
    has: (id: string) => ids.value.has(id),
    toggle,
    selectAll,
    clear,
    batch,
    approve,
    finish,
  }
}
