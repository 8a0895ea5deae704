import { useEventListener } from '@vueuse/core'
import { onScopeDispose, watch } from 'vue'
import { textSize } from '@/ui/appearance'

/**
 * fitViewport stores the height above an on-screen keyboard in --vvh, because 100dvh ignores the keyboard on
 * iOS. It sets nothing until the height changes, because reading it forces a layout.
 */
export function fitViewport(): void {
  const viewport = window.visualViewport
  const fit = () =>
    document.documentElement.style.setProperty(
      '--vvh',
      `${((viewport?.height ?? innerHeight) * 100) / Number(textSize.value)}px`,
    )
  watch(textSize, fit)
  useEventListener(viewport, 'resize', fit)
  onScopeDispose(() => document.documentElement.style.removeProperty('--vvh'))
}
