import { computed } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'

const stored = useStored('sayso:single-keys', 'on', oneOf('on', 'off'))

/** Whether single-key shortcuts are on. WCAG 2.1.4 requires a way to turn them off. */
export const singleKeys = computed(() => stored.value === 'on')

export function setSingleKeys(on: boolean): void {
  stored.value = on ? 'on' : 'off'
}
