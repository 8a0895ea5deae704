import { computed, onBeforeUnmount, ref, watch, type ComputedRef, type Ref } from 'vue'
import type { TranscriptState } from '@/state/reducer'
import { rowsOf, runsOf, type Calls, type Row } from './rows'

// A long transcript comes in pieces, one at once after the other: to draw the end of
// each would take longer than all of them take to come. Over a slow line it grows in
// sight.
const MAX_WAIT_MS = 1_000

/** useTranscriptRows returns the rows of a transcript, once all of it or enough time has come. */
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
