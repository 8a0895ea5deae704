import { ref } from 'vue'

const KEY = 'sayso:single-keys'

/** Whether keys that are one character work: WCAG 2.1.4 wants them to be turned off. */
export const singleKeys = ref(read())

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off'
  } catch {
    return true
  }
}

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on
  try {
    localStorage.setItem(KEY, on ? 'on' : 'off')
  } catch {
    // It holds as long as the page then.
  }
}
