import { ref, watch } from 'vue'
import { single } from '@/ui/narrow'

const KEY = 'sayso:beside'

function read(): boolean {
  try {
    return localStorage.getItem(KEY) === 'open'
  } catch {
    return false
  }
}

/** Whether the drawer stands beside the transcript; kept by the browser. */
export const drawer = ref(read())
/** Whether it lies over the page, where there is no room beside. */
export const sheet = ref(false)

// What was opened beside is not to jump over the page when the window gets smaller.
watch(single, () => (sheet.value = false))

export function toggle(): void {
  if (single.value) {
    sheet.value = !sheet.value
    return
  }
  drawer.value = !drawer.value
  try {
    localStorage.setItem(KEY, drawer.value ? 'open' : 'closed')
  } catch {
    // It holds as long as the page then.
  }
}
