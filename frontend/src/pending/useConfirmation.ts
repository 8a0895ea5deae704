import { useEventListener } from '@vueuse/core'
import { nextTick, onScopeDispose, ref, watch, type Ref } from 'vue'
import { touch } from '@/ui/narrow'
import type { Request } from '@/wire/messages.gen'
import { byTouch } from './guard'
import { HOLD_MS, ignoreHeldKey } from './hold'
import type { Phase } from './phase'
import type { MayDecide } from './useCardKeys'

/**
 * useConfirmation lets a person confirm a dangerous request by typing a word, or by holding the
 * approve key for HOLD_MS. required reports whether the request needs it. view changes when the card
 * shows something else to decide, such as the panel for a denial: a key that is still held then no
 * longer approves. approve is called once, after decide.ts was asked again.
 */
export function useConfirmation(
  request: Request,
  phase: Readonly<Ref<Phase>>,
  required: Readonly<Ref<boolean>>,
  card: Readonly<Ref<{ focus(): void; may: MayDecide } | null>>,
  view: () => unknown,
  approve: (touch: boolean) => void,
): {
  confirming: Readonly<Ref<boolean>>
  /** Whether a key is being held. */
  holding: Readonly<Ref<boolean>>
  /** Whether the field for the word gets the focus. */
  focusWord: Readonly<Ref<boolean>>
  startConfirming: () => void
  stopConfirming: () => void
  /** Starts holding a key. The card receives only the first keydown. */
  holdKey: () => void
} {
  const confirming = ref(false)
  const holding = ref(false)
  const focusWord = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined

  // After the confirmation the field closes, because Ctrl+Z in it would undo typing.
  watch(
    () => phase.value.kind,
    (kind) => {
      if (kind !== 'held') return
      confirming.value = false
      const focused = document.activeElement?.closest<HTMLElement>('[data-request-id]')
      if (focused?.dataset['requestId'] === request.request_id) void nextTick(() => card.value?.focus())
    },
  )
  watch(required, (is) => !is && (confirming.value = false))

  function release() {
    holding.value = false
    clearTimeout(timer)
  }
  useEventListener(['keyup', 'blur'], release)
  watch(view, release, { flush: 'sync' })
  onScopeDispose(release)

  function holdKey() {
    if (holding.value) return
    focusWord.value = false
    confirming.value = true
    holding.value = true
    timer = setTimeout(() => {
      if (!holding.value) return
      release()
      if (!confirming.value || !card.value?.may('approve', { confirmed: true })) return
      ignoreHeldKey()
      approve(byTouch())
    }, HOLD_MS)
  }

  return {
    confirming,
    holding,
    focusWord,
    startConfirming() {
      // An on-screen keyboard would cover what is confirmed.
      focusWord.value = !touch.value
      confirming.value = true
    },
    stopConfirming() {
      release()
      confirming.value = false
      card.value?.focus()
    },
    holdKey,
  }
}
