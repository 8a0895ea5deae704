import { computed, type ComputedRef, type Ref } from 'vue'
import type { Level, Request } from '@/wire/messages.gen'
import { confirmationWord } from './danger'
import { needsConfirmation } from './decide'
import type { ToolInput } from './edit'
import { usePreview } from './preview'

/**
 * useReview returns what the server says of an input and how much it takes to
 * approve it. replacement is what a person made of the input, null for nothing.
 */
export function useReview(
  request: () => Request,
  input: Readonly<Ref<ToolInput>>,
  replacement: ComputedRef<ToolInput | null>,
): Omit<ReturnType<typeof usePreview>, 'settled'> & {
  /** Whether what the server says has come, or will not. */
  known: ComputedRef<boolean>
  level: ComputedRef<Level | undefined>
  defaultToNo: ComputedRef<boolean>
  mustConfirm: ComputedRef<boolean>
  /** The word that confirms. */
  word: ComputedRef<string>
} {
  const preview = usePreview(request(), replacement)
  const { asked, current } = preview
  // What nothing is known of yet is approved by nobody; what is never known, as the server last said.
  const level = computed(() =>
    replacement.value === null ? (asked.value?.level ?? request().risk) : current.value?.level,
  )
  const defaultToNo = computed(() => request().default_to_no === true)
  return {
    ...preview,
    known: preview.settled,
    level,
    defaultToNo,
    mustConfirm: computed(() => needsConfirmation({ level: level.value, defaultToNo: defaultToNo.value })),
    word: computed(() =>
      confirmationWord(
        replacement.value ?? input.value,
        (replacement.value === null ? asked : current).value?.command?.marks ?? [],
        request().tool_name,
      ),
    ),
  }
}
