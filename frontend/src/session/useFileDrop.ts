import { useEventListener } from '@vueuse/core'
import { ref, type Ref } from 'vue'

/** Longer pasted texts become a file: in the field they would hide the question. */
const MAX_PASTED_CHARS = 10_000

const filesOf = (data: DataTransfer | null) => [...(data?.files ?? [])]
const hasFiles = (ev: DragEvent) => ev.dataTransfer?.types.includes('Files') === true

/**
 * useFileDrop calls onFiles with files that are pasted or dropped on target. A long pasted text
 * becomes a file named textName. over is true while files are dragged over target.
 */
export function useFileDrop(
  target: () => HTMLElement | null,
  enabled: () => boolean,
  onFiles: (files: File[]) => void,
  textName: () => string,
): { over: Readonly<Ref<boolean>> } {
  const over = ref(false)

  function take(ev: Event, files: File[]) {
    ev.preventDefault()
    onFiles(files)
  }
  useEventListener(target, 'paste', (ev: ClipboardEvent) => {
    const files = filesOf(ev.clipboardData)
    const text = ev.clipboardData?.getData('text/plain') ?? ''
    if (enabled() && text.length > MAX_PASTED_CHARS)
      return take(ev, [new File([text], textName(), { type: 'text/plain' })])
    // A copied table is both text and an image of it; the text is meant.
    if (enabled() && files.length > 0 && !ev.clipboardData?.types.includes('text/plain')) take(ev, files)
  })
  useEventListener(target, 'dragover', (ev: DragEvent) => {
    if (!enabled() || !hasFiles(ev)) return
    ev.preventDefault()
    over.value = true
  })
  useEventListener(target, 'dragleave', (ev: DragEvent) => {
    if (!(ev.relatedTarget instanceof Node && target()?.contains(ev.relatedTarget))) over.value = false
  })
  useEventListener(target, 'drop', (ev: DragEvent) => {
    over.value = false
    const files = filesOf(ev.dataTransfer)
    if (enabled() && files.length > 0) take(ev, files)
  })

  // If a file is dropped elsewhere, the browser would open it instead of the page, and unsent text
  // would be lost.
  useEventListener(['dragover', 'drop'], (ev: DragEvent) => {
    if (ev.defaultPrevented || !hasFiles(ev)) return
    ev.preventDefault()
    ev.dataTransfer!.dropEffect = 'none'
  })
  return { over }
}
