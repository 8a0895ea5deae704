import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import type { Preview, Request } from '@/wire/messages.gen'
import { onOwner } from '@/connection/owner'
import { call, RefusedError } from '@/connection/rest'
import type { ToolInput } from './edit'

/** How long after the last key an edited input is reviewed again, in ms. */
export const AFTER_EDIT_MS = 300
/** How long the card waits for a preview, in ms. */
const TIMEOUT_MS = 3_000
// Returning to the card reads the file again, but not on every movement of the pointer.
const AGAIN_MS = 1_000

// The last previews, for cards that are created again.
const last = new Map<string, Preview>()
onOwner(() => last.clear())
const MAX_CACHED = 50

const at = (id: string) => `/api/pending/${encodeURIComponent(id)}/preview`

/** Tools whose preview depends on what is on disk. */
const FILES = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])

/**
 * usePreview returns the server's review of a request: of the original input, and of the edited
 * one. It arrives after the form, or not at all.
 */
export function usePreview(
  request: Request,
  edited: ComputedRef<ToolInput | null>,
): {
  /** The review of the original input; null while unknown. */
  asked: Ref<Preview | null>
  /** The review of what would run now; null while unknown. */
  current: ComputedRef<Preview | null>
  /** Whether there is nothing more to wait for. */
  settled: ComputedRef<boolean>
  /** How often the file on disk has changed since it was last read. */
  changed: Ref<number>
  refresh(): void
} {
  const id = request.request_id
  const asked = shallowRef<Preview | null>(last.get(id) ?? null)
  const ofEdit = shallowRef<{ input: ToolInput; preview: Preview } | null>(null)
  const failed = shallowRef<ToolInput | null>(null)
  const settled = ref(asked.value !== null)
  const changed = ref(0)
  let disposed = false
  let loading = false
  let read = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const giveUp = setTimeout(() => (settled.value = true), TIMEOUT_MS)

  async function load() {
    if (loading || disposed) return
    loading = true
    read = Date.now()
    try {
      const now = await call<Preview | null>('GET', at(id))
      if (disposed || !now) return // decided meanwhile: the last review stays until the card is removed
      const before = asked.value?.file
      if (before && now.file && JSON.stringify(before) !== JSON.stringify(now.file)) changed.value++
      // An equal preview keeps the old object, so that the end of the card need not be seen again.
      if (JSON.stringify(asked.value) !== JSON.stringify(now)) asked.value = now
      last.set(id, now)
      if (last.size > MAX_CACHED) last.delete(last.keys().next().value!)
    } catch (err) {
      // A refusal is final; other errors may be temporary.
      if (!(err instanceof RefusedError) && !asked.value && !disposed) timer = setTimeout(() => void load(), TIMEOUT_MS)
    } finally {
      loading = false
      settled.value = true
    }
  }
  if (request.request_type === 'tool_approval') void load()
  else settled.value = true

  async function loadEdit(input: ToolInput) {
    try {
      const preview = await call<Preview | null>('POST', at(id), { tool_input: input })
      if (preview && !disposed && edited.value === input) ofEdit.value = { input, preview }
    } catch {
      // Without it, the card shows no review of the edit.
      if (!disposed && edited.value === input) failed.value = input
    }
  }
  let typing: ReturnType<typeof setTimeout> | undefined
  let late: ReturnType<typeof setTimeout> | undefined
  watch(
    edited,
    (input) => {
      clearTimeout(typing)
      clearTimeout(late)
      if (input === null) return
      typing = setTimeout(() => void loadEdit(input), AFTER_EDIT_MS)
      late = setTimeout(() => (failed.value = input), TIMEOUT_MS)
    },
    { immediate: true },
  )

  function refresh() {
    if (!FILES.has(request.tool_name) || Date.now() - read < AGAIN_MS || document.hidden) return
    void load()
    if (edited.value !== null) void loadEdit(edited.value)
  }
  addEventListener('focus', refresh)
  document.addEventListener('visibilitychange', refresh)
  onScopeDispose(() => {
    disposed = true
    clearTimeout(timer)
    clearTimeout(typing)
    clearTimeout(late)
    clearTimeout(giveUp)
    removeEventListener('focus', refresh)
    document.removeEventListener('visibilitychange', refresh)
  })

  return {
    asked,
    current: computed(() =>
      edited.value === null ? asked.value : ofEdit.value?.input === edited.value ? ofEdit.value.preview : null,
    ),
    settled: computed(
      () =>
        settled.value &&
        (edited.value === null || failed.value === edited.value || ofEdit.value?.input === edited.value),
    ),
    changed,
    refresh,
  }
}
