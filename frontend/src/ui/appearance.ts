import { watch, type Ref } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'

/** useChoice returns one choice about how the app looks and sounds in this browser; for the styles it is an attribute of the page. */
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

/** Whether a sound is played when a request comes. */
export const sound = useChoice('sound', ['off', 'on'] as const)

/** How much of what Claude does is announced to a screen reader; a request always is. */
export const SPOKEN = ['summaries', 'off', 'full'] as const
export const spoken = useChoice('spoken', SPOKEN)
