import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

/** useOverflow tells whether an element holds more than it shows; measure looks again at once. */
export function useOverflow(el: Readonly<Ref<HTMLElement | null>>): {
  overflows: Readonly<Ref<boolean>>
  measure: () => void
} {
  const overflows = ref(false)
  function measure() {
    if (el.value) overflows.value = el.value.scrollHeight > el.value.clientHeight + 1
  }
  let resized: ResizeObserver | undefined
  onMounted(() => {
    resized = new ResizeObserver(measure)
    resized.observe(el.value!)
    for (const child of el.value!.children) resized.observe(child)
  })
  onBeforeUnmount(() => resized?.disconnect())
  return { overflows, measure }
}
