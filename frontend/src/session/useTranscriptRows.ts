import { computed, onBeforeUnmount, ref, watch, type ComputedRef, type Ref } from 'vue'
import type { TranscriptState } from '@/state/reducer'
import { rowsOf, runsOf, type Calls, type Row } from './rows'

// A long transcript arrives in pieces in quick succession. Drawing after each piece would take
// longer than receiving all of them. On a slow connection, the transcript grows visibly.
const MAX_WAIT_MS = 1_000

/**
 * useTranscriptRows returns the rows of a transcript, once all of it has arrived or MAX_WAIT_MS has
 * passed.
 */
export function useTranscriptRows(transcript: ComputedRef<TranscriptState | undefined>): {
  ready: Readonly<Ref<boolean>>
  rows: ComputedRef<(Row | Calls)[]>
} {
  const ready = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  watch(
    () => transcript.value?.more,
    (more) => {
      if (more === false) ready.value = true
      else if (more) timer ??= setTimeout(() => (ready.value = true), MAX_WAIT_MS)
    },
    { immediate: true, flush: 'sync' },
  )
  onBeforeUnmount(() => clearTimeout(timer))
  return {
    ready,
    rows: computed(() =>
      ready.value ? runsOf(rowsOf(transcript.value?.items ?? [], transcript.value?.live ?? null)) : [],
    ),
  }
}
