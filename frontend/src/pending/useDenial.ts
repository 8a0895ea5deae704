import { computed, ref, type ComputedRef, type Ref } from 'vue'

/** PanelFocus is what gets the focus when the panel for a reason opens; null leaves the focus where it is. */
export type PanelFocus = 'reason' | 'templates' | null

/**
 * useDenial opens and closes the panel for the reason of a denial. Whether it is open is part of
 * the draft. A restored draft takes no focus.
 */
export function useDenial(
  draft: Readonly<Ref<{ denying: boolean }>>,
  focusCard: () => void,
): {
  denying: ComputedRef<boolean>
  panelFocus: Readonly<Ref<PanelFocus>>
  startDenying: (focus?: 'reason' | 'templates') => void
  stopDenying: () => void
} {
  const panelFocus = ref<PanelFocus>(null)
  return {
    denying: computed(() => draft.value.denying),
    panelFocus,
    startDenying(focus = 'reason') {
      panelFocus.value = focus
      draft.value.denying = true
    },
    stopDenying() {
      draft.value.denying = false
      focusCard()
    },
  }
}
