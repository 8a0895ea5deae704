import { watch, type Ref } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'

/**
 * useChoice returns one setting for the look and sound of the app in this browser. Styles read it from an
 * attribute of the page.
 */
export function useChoice<T extends string>(name: string, values: readonly [T, ...T[]]): Ref<T> {
  const choice = useStored(`sayso:${name}`, values[0], oneOf(...values))
  watch(choice, (now) => (document.documentElement.dataset[name] = now), { immediate: true })
  return choice
}

export const THEMES = ['system', 'light', 'dark'] as const
export const theme = useChoice('theme', THEMES)

export const DENSITIES = ['comfortable', 'compact'] as const
export const density = useChoice('density', DENSITIES)

/** In percent. */
export const TEXT_SIZES = ['100', '90', '115', '130', '150'] as const
export const textSize = useChoice('text', TEXT_SIZES)

/** Whether a sound is played for new requests. */
export const sound = useChoice('sound', ['off', 'on'] as const)

/** How much of Claude's activity is announced to screen readers. Requests always are. */
export const SPOKEN = ['summaries', 'off', 'full'] as const
export const spoken = useChoice('spoken', SPOKEN)
