import { computed, ref, watch } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'
import { single } from '@/ui/narrow'

const stored = useStored('sayso:beside', 'closed', oneOf('open', 'closed'))

/** Whether the details are open beside the transcript; stored in the browser. */
export const drawer = computed(() => stored.value === 'open')
/** Whether the details cover the page, in windows too narrow for both. */
export const sheet = ref(false)

// Details that are open beside the transcript must not cover the page when the window becomes
// narrow.
watch(single, () => (sheet.value = false))

export function toggle(): void {
  if (single.value) sheet.value = !sheet.value
  else stored.value = drawer.value ? 'closed' : 'open'
}
