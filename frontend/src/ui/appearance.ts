import { ref, watch, type Ref } from 'vue'

/**
 * One choice of a person about how the app looks and sounds here: kept in this
 * browser, told to the other tabs, and for the styles an attribute of the page.
 */
export function kept<T extends string>(name: string, values: readonly [T, ...T[]]): Ref<T> {
  const key = `sayso:${name}`
  const stored = (): T => {
    try {
      return values.find((v) => v === localStorage.getItem(key)) ?? values[0]
    } catch {
      return values[0]
    }
  }
  const choice = ref(stored()) as Ref<T>
  addEventListener('storage', (ev) => {
    if (ev.key === key) choice.value = stored()
  })
  watch(
    choice,
    (now) => {
      document.documentElement.dataset[name] = now
      try {
        localStorage.setItem(key, now)
      } catch {
        // Forbidden storage: the choice lasts as long as the page.
      }
    },
    { immediate: true },
  )
  return choice
}

export const THEMES = ['system', 'light', 'dark'] as const
export const theme = kept('theme', THEMES)

export const DENSITIES = ['comfortable', 'compact'] as const
export const density = kept('density', DENSITIES)

/** In percent. */
export const TEXT_SIZES = ['100', '90', '115', '130', '150'] as const
export const textSize = kept('text', TEXT_SIZES)

/** A soft sound when something begins to wait. */
export const sound = kept('sound', ['off', 'on'] as const)

/** How much of what Claude does is said to a screen reader; a request always is. */
export const SPOKEN = ['summaries', 'off', 'full'] as const
export const spoken = kept('spoken', SPOKEN)
