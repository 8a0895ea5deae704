import { computed, type ComputedRef, type Ref } from 'vue'
import type { Level, Request } from '@/wire/messages.gen'
import { confirmationWord, harmOf } from './danger'
import { needsConfirmation } from './decide'
import type { ToolInput } from './edit'
import { usePreview } from './preview'

/**
 * useReview returns the server's review of an input, and what is needed to approve it. replacement
 * is the edited input, null if it is unchanged.
 */
export function useReview(
  request: () => Request,
  input: Readonly<Ref<ToolInput>>,
  replacement: ComputedRef<ToolInput | null>,
): Omit<ReturnType<typeof usePreview>, 'settled'> & {
  /** Whether the review has arrived, or will not. */
  known: ComputedRef<boolean>
  level: ComputedRef<Level | undefined>
  defaultToNo: ComputedRef<boolean>
  mustConfirm: ComputedRef<boolean>
  /** The word to type to confirm. */
  word: ComputedRef<string>
  /** What the input does at its marks of high risk, as a sentence. */
  harm: ComputedRef<string>
} {
  const preview = usePreview(request(), replacement)
  const { asked, current } = preview
  // Without a preview, the original input has the level of its request, and an edit has none.
  const level = computed(() =>
    replacement.value === null ? (asked.value?.level ?? request().risk) : current.value?.level,
  )
  const defaultToNo = computed(() => request().default_to_no === true)
  const marks = computed(() => (replacement.value === null ? asked : current).value?.command?.marks ?? [])
  return {
    ...preview,
    known: preview.settled,
    level,
    defaultToNo,
    mustConfirm: computed(() => needsConfirmation({ level: level.value, defaultToNo: defaultToNo.value })),
    word: computed(() => confirmationWord(replacement.value ?? input.value, marks.value, request().tool_name)),
    harm: computed(() => harmOf(marks.value)),
  }
}
