import { computed, ref } from 'vue'
import { useLoaded } from '@/connection/useLoaded'
import type { AuditEntry } from '@/wire/messages.gen'
import { read, type Read } from './entry'
import { admin } from './rest'

const NONE = { person: '', what: '', session_id: '', since: '', until: '' }
export type AuditFilters = typeof NONE

/** Returns the first or last second of a day (YYYY-MM-DD, in the person's time zone) as Unix time. */
const edge = (day: string, last: boolean) =>
  day === '' ? '' : String(Math.floor(new Date(`${day}T${last ? '23:59:59' : '00:00:00'}`).getTime() / 1000))

interface Row {
  entry: AuditEntry
  read: Read
}

/** useAuditTrail loads the entries that match its filters, newest first and a page at a time. */
export function useAuditTrail() {
  const filters = ref({ ...NONE })
  const filtered = computed(() => Object.values(filters.value).some((v) => v !== ''))
  // The cursor of the loaded page.
  let before = 0
  let above: Row[] = []

  const { value, problem, loading, reload } = useLoaded(async () => {
    const f = filters.value
    const earlier = above
    const page = await admin.audit({
      newest: 'true',
      person: f.person.trim(),
      what: f.what,
      session_id: f.session_id.trim(),
      since: edge(f.since, false),
      until: edge(f.until, true),
      before: before > 0 ? String(before) : '',
    })
    return {
      entries: [...earlier, ...page.entries.map((entry) => ({ entry, read: read(entry.entry) }))],
      next: page.next,
    }
  })
  const entries = computed(() => value.value?.entries ?? [])
  const next = computed(() => value.value?.next ?? 0)

  function load() {
    before = 0
    above = []
    return reload()
  }
  function loadMore() {
    before = next.value
    above = entries.value
    return reload()
  }
  function clear() {
    filters.value = { ...NONE }
    return load()
  }
  return { filters, filtered, entries, next, problem, loading, load, loadMore, clear }
}
