import { computed } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'

const stored = useStored('sayso:single-keys', 'on', oneOf('on', 'off'))

/** Whether keys that are one character work: WCAG 2.1.4 wants them to be turned off. */
export const singleKeys = computed(() => stored.value === 'on')

export function setSingleKeys(on: boolean): void {
  stored.value = on ? 'on' : 'off'
}
