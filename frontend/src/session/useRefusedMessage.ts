import { computed, reactive, ref, watch, type ComputedRef } from 'vue'
import { useSessions } from '@/state/sessions'
import type { State } from '@/state/reducer'

type RefusedMessage = State['refused'] extends ReadonlyMap<string, infer Message> ? Message : never

// By command_id. The store keeps the last refusal of each session, and each visit creates a new
// composer.
const offered = new Set<string>()
const dismissed = reactive(new Set<string>())

/**
 * useRefusedMessage returns the last message of a session that the server refused, until it is
 * dismissed. restore is called once per message, and reports whether it put the message back into
 * the field.
 */
export function useRefusedMessage(
  sessionID: () => string,
  restore: (message: RefusedMessage) => boolean,
): {
  refused: ComputedRef<RefusedMessage | undefined>
  /** Whether the message is back in the field. */
  restored: ComputedRef<boolean>
  dismiss: () => void
} {
  const store = useSessions()
  const refused = computed(() => {
    const message = store.state.refused.get(sessionID())
    return message && !dismissed.has(message.command_id) ? message : undefined
  })
  const restoredID = ref('')
  watch(
    refused,
    (message) => {
      if (!message || offered.has(message.command_id)) return
      offered.add(message.command_id)
      if (restore(message)) restoredID.value = message.command_id
    },
    { immediate: true },
  )
  return {
    refused,
    restored: computed(() => restoredID.value === refused.value?.command_id),
    dismiss() {
      if (refused.value) dismissed.add(refused.value.command_id)
    },
  }
}
