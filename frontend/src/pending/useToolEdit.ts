import { computed, reactive, type Ref } from 'vue'
import type { Request } from '@/wire/messages.gen'
import { editableText, editedField, withText, type Edited, type ToolInput } from './edit'
import { words } from './words'

/** ToolEdit is a person's edit of a tool input before it runs. */
export interface ToolEdit {
  /** The input as requested. */
  readonly input: ToolInput
  /** The field that is edited as text; null if the whole input is edited as JSON. */
  readonly field: string | null
  readonly editing: boolean
  readonly text: string
  /** The parsed text; null while nobody edits. */
  readonly result: Edited | null
  /** Why the text cannot be sent; null when it can. */
  readonly error: string | null
  readonly valid: boolean
  /** The input that would run instead; null if that is the original. */
  readonly replacement: ToolInput | null
  write(text: string): void
  start(): void
  discard(): void
}

/** useToolEdit edits the input of a request in draft.edit; onType is called with every change of the text. */
export function useToolEdit(
  request: Request,
  input: Readonly<Ref<ToolInput>>,
  draft: Readonly<Ref<{ edit: string | null }>>,
  onType: () => void,
): ToolEdit {
  const tool = request.tool_name
  const editing = computed(() => draft.value.edit !== null)
  const result = computed(() => (draft.value.edit === null ? null : withText(tool, input.value, draft.value.edit)))
  const error = computed(() => {
    if (result.value === null || result.value.ok) return null
    if (result.value.message === 'empty') return words.edit.empty
    if (result.value.message === 'object') return words.edit.object
    return words.edit.syntax(result.value.message, result.value.line)
  })
  return reactive({
    input,
    field: computed(() => editedField(tool, input.value)),
    editing,
    text: computed(() => draft.value.edit ?? ''),
    result,
    error,
    valid: computed(() => result.value === null || result.value.ok),
    replacement: computed(() => (result.value?.ok && result.value.changed ? result.value.input : null)),
    write(text: string) {
      draft.value.edit = text
      onType()
    },
    start() {
      draft.value.edit ??= editableText(tool, input.value)
    },
    discard() {
      draft.value.edit = null
    },
  })
}
