import { useResizeObserver } from '@vueuse/core'
import { computed, ref, type Ref } from 'vue'

/** useOverflow reports whether the content of an element is taller than the element; measure checks again at once. */
export function useOverflow(el: Readonly<Ref<HTMLElement | null>>): {
  overflows: Readonly<Ref<boolean>>
  measure: () => void
} {
  const overflows = ref(false)
  function measure() {
    if (el.value) overflows.value = el.value.scrollHeight > el.value.clientHeight + 1
  }
  useResizeObserver(
    computed(() => (el.value ? [el.value, ...(el.value.children as HTMLCollectionOf<HTMLElement>)] : [])),
    measure,
  )
  return { overflows, measure }
}
