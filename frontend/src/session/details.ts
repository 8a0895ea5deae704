import { computed, ref, watch } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'
import { single } from '@/ui/narrow'

const stored = useStored('sayso:beside', 'closed', oneOf('open', 'closed'))

/** Whether the drawer stands beside the transcript; kept by the browser. */
export const drawer = computed(() => stored.value === 'open')
/** Whether it lies over the page, where there is no room beside. */
export const sheet = ref(false)

// What was opened beside is not to jump over the page when the window gets smaller.
watch(single, () => (sheet.value = false))

export function toggle(): void {
  if (single.value) sheet.value = !sheet.value
  else stored.value = drawer.value ? 'closed' : 'open'
}
