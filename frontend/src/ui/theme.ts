import { ref, watch } from 'vue'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'sayso:theme'

function stored(): Theme {
  try {
    return THEMES.find((t) => t === localStorage.getItem(KEY)) ?? 'system'
  } catch {
    return 'system'
  }
}

export const theme = ref<Theme>(stored())

watch(theme, (now) => {
  document.documentElement.dataset['theme'] = now
  try {
    localStorage.setItem(KEY, now)
  } catch {
    // Forbidden storage: the choice lasts as long as the page.
  }
}, { immediate: true })
