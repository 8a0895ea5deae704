import { useEventListener } from '@vueuse/core'
import { onScopeDispose, watch } from 'vue'
import { textSize } from '@/ui/appearance'

/**
 * fitViewport keeps the height that an on-screen keyboard leaves in --vvh, which 100dvh
 * does not know on iOS. Until it changes there is none: to read it would lay out the
 * page once more.
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
